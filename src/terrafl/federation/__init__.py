"""The round loop and the federation it trains: one loop for the simulator and for Flower."""
