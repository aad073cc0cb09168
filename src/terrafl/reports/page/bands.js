/** Mean and standard deviation of the curves of several seeds, as in curves.py. */

const bands = (() => {
  const MOST_POINTS = 600;

  /**
   * Read a curve between its points.
   * @param {number[]} x rising @param {number[]} y @param {number} at within the range of x
   */
  function interpolate(x, y, at) {
    let low = 0;
    let high = x.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (x[middle] <= at) low = middle;
      else high = middle;
    }
    if (x[high] <= at) return y[high];
    if (x[low] >= at) return y[low];
    return y[low] + ((y[high] - y[low]) * (at - x[low])) / (x[high] - x[low]);
  }

  /**
   * Of equal positions, the last value counts.
   * @param {number[]} x @param {number[]} y @returns {[number[], number[]]}
   */
  function distinct(x, y) {
    /** @type {[number[], number[]]} */
    const kept = [[], []];
    x.forEach((at, i) => {
      if (i + 1 < x.length && x[i + 1] === at) return;
      kept[0].push(at);
      kept[1].push(y[i]);
    });
    return kept;
  }

  /**
   * Average curves over the range that all of them cover; null if they have nothing in common.
   * @param {{x: number[], y: number[]}[]} curves
   * @returns {{x: number[], mean: number[], sd: number[], seeds: number} | null}
   */
  function average(curves) {
    const known = curves.filter(({x}) => x.length).map(({x, y}) => distinct(x, y));
    if (!known.length) return null;
    const start = Math.max(...known.map(([x]) => x[0]));
    const end = Math.min(...known.map(([x]) => x[x.length - 1]));
    if (start > end) return null;
    let grid = [...new Set(known.flatMap(([x]) => x))].filter((at) => start <= at && at <= end);
    grid.sort((a, b) => a - b);
    if (known.length > 1 && grid.length > MOST_POINTS)
      grid = Array.from(
        {length: MOST_POINTS},
        (_, i) => start + ((end - start) * i) / (MOST_POINTS - 1),
      );
    const mean = [];
    const sd = [];
    for (const at of grid) {
      const values = known.map(([x, y]) => interpolate(x, y, at));
      const centre = values.reduce((sum, value) => sum + value, 0) / values.length;
      const squares = values.reduce((sum, value) => sum + (value - centre) ** 2, 0);
      mean.push(centre);
      sd.push(values.length > 1 ? Math.sqrt(squares / (values.length - 1)) : 0);
    }
    return {x: grid, mean, sd, seeds: known.length};
  }

  /** The place of the value nearest to a position. @param {number[]} x @param {number} at */
  function nearest(x, at) {
    let low = 0;
    let high = x.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (x[middle] <= at) low = middle;
      else high = middle;
    }
    return Math.abs(x[high] - at) < Math.abs(x[low] - at) ? high : low;
  }

  return {average, nearest};
})();
