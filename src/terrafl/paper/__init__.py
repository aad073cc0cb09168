"""The paper's evaluation: its tables and figures as data, planned, run and shown beside ours."""
