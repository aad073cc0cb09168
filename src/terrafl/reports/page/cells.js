/** The arithmetic of the heat map: clients in an order, rounds in columns, a number per cell. */

const cells = (() => {
  const MOST_LINES = 240;

  /**
   * Clients in the order of a key, those with most of it first.
   * @param {Run} run @param {string} key
   */
  function order(run, key) {
    const {ids, sizes, distances, labels} = run.federation;
    const taken = model.participation(run);
    const places = ids.map((_, i) => i);
    const by = {size: sizes, skew: distances, participation: taken}[key];
    if (key === "label" && labels.length)
      places.sort((a, b) => labels[a] - labels[b] || (sizes[b] ?? 0) - (sizes[a] ?? 0));
    else if (by && by.length)
      // A client that joined a run on Flower later has no known size.
      places.sort((a, b) => (by[b] ?? -1) - (by[a] ?? -1) || a - b);
    return places;
  }

  /**
   * Count or average what falls into every cell. Beyond what a screen can show, neighbouring
   * clients or rounds share a cell.
   * @param {Run} run @param {number[]} order @param {"participation" | "norm"} what
   * @param {number} mostColumns
   */
  function fill(run, order, what, mostColumns) {
    const index = model.indexOf(run);
    const rounds = index.rounds;
    const lines = Math.min(order.length, MOST_LINES);
    const columns = Math.max(1, Math.min(rounds.length, mostColumns));
    const lineOf = new Int32Array(order.length);
    order.forEach((client, rank) => {
      lineOf[client] = Math.floor((rank * lines) / order.length);
    });
    const sum = new Float64Array(lines * columns);
    const count = new Int32Array(lines * columns);
    rounds.forEach((round, position) => {
      const column = Math.floor((position * columns) / rounds.length);
      for (const i of index.of.get(round) ?? []) {
        for (let j = index.start[i]; j < index.start[i + 1]; j++) {
          const value = run.steps.value[j];
          if (what === "norm" && value == null) continue;
          const cell = lineOf[run.steps.client[j]] * columns + column;
          sum[cell] += what === "norm" ? /** @type {number} */ (value) : 1;
          count[cell]++;
        }
      }
    });
    const values = Array.from(sum, (total, cell) =>
      count[cell] ? (what === "norm" ? total / count[cell] : total) : null,
    );
    return {lines, columns, rounds, values, lineOf};
  }

  /**
   * Steps of a colour scale: whole numbers for counts, even steps between the extremes for norms.
   * @param {(number | null)[]} values @param {number} most steps
   * @returns {number[]} lower ends, rising
   */
  function levels(values, most) {
    const known = /** @type {number[]} */ (values.filter((value) => value != null)).sort(
      (a, b) => a - b,
    );
    if (!known.length) return [];
    const [low, high] = [known[0], known[Math.floor((known.length - 1) * 0.98)]];
    if (known.every(Number.isInteger) && high - low < most)
      return Array.from({length: high - low + 1}, (_, i) => low + i);
    return Array.from({length: most}, (_, i) => low + ((high - low) * i) / most);
  }

  /** @param {number[]} levels @param {number} value */
  function levelOf(levels, value) {
    let level = 0;
    while (level + 1 < levels.length && levels[level + 1] <= value) level++;
    return level;
  }

  return {order, fill, levels, levelOf};
})();
