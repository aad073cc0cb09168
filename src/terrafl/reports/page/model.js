/**
 * The page's data: packed inside a report, or sent to a live page step by step.
 * Rounds are counted from 0 in the data and from 1 on the screen.
 *
 * @typedef {{round: number[], updates: number[], samples: number[], accuracy: number[],
 *   seconds: number[]}} Curve
 * @typedef {{round: number[], iteration: number[], size: number[], client: number[],
 *   value: (number | null)[], q1: number[], q3: number[], tau: number[]}} Steps
 * @typedef {{ids: string[], sizes: number[], distances: number[], labels: number[],
 *   listed: boolean}} Federation
 * @typedef {{name: string, style: number}} Method
 * @typedef {{name: string, is_percent: boolean}} Metric
 * @typedef {{slug: string, title: string, budget: number, metric: Metric,
 *   methods: Method[]}} Group
 * @typedef {{id: number, name: string, group: string, method: number, seed: number, eta: number,
 *   planned: number, done: number, status: string, signal: string, metric: Metric,
 *   federation: Federation, curve: Curve, steps: Steps, taken: number[] | null,
 *   index: StepIndex | null}} Run
 * @typedef {{start: number[], rounds: number[], of: Map<number, number[]>}} StepIndex
 * @typedef {{iteration: number, clients: number[], values: (number | null)[], q1: number, q3: number,
 *   tau: number}} Step
 */

const model = (() => {
  /** @returns {Curve} */
  const emptyCurve = () => ({round: [], updates: [], samples: [], accuracy: [], seconds: []});

  /** @returns {Steps} */
  const emptySteps = () => ({
    round: [],
    iteration: [],
    size: [],
    client: [],
    value: [],
    q1: [],
    q3: [],
    tau: [],
  });

  const state = {
    live: false,
    every: 1,
    /** @type {Group[]} */ groups: [],
    /** @type {Map<number, Run>} */ runs: new Map(),
    /** @type {[string, string][]} names and reasons */ unreadable: [],
  };

  /**
   * Open what the report was packed with.
   * @param {string} text base64 of gzipped JSON
   */
  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const plain = JSON.parse(await new Response(stream).text());
    state.every = plain.every;
    state.groups = plain.groups;
    for (const run of plain.runs) {
      run.federation = plain.federations[run.federation];
      run.index = null;
      state.runs.set(run.id, run);
    }
  }

  /** @param {string} slug @returns {Run[]} */
  const runsOf = (slug) => [...state.runs.values()].filter((run) => run.group === slug);

  /** @param {string} slug @param {number} method @returns {Run[]} */
  const runsOfMethod = (slug, method) =>
    runsOf(slug)
      .filter((run) => run.method === method)
      .sort((a, b) => a.seed - b.seed);

  /**
   * Where each iteration starts, and which belong to a round.
   * @param {Run} run @returns {StepIndex}
   */
  function indexOf(run) {
    if (run.index) return run.index;
    const {round, size} = run.steps;
    const start = [0];
    /** @type {Map<number, number[]>} */
    const of = new Map();
    for (let i = 0; i < round.length; i++) {
      start.push(start[i] + size[i]);
      const known = of.get(round[i]);
      if (known) known.push(i);
      else of.set(round[i], [i]);
    }
    run.index = {start, rounds: [...of.keys()], of};
    return run.index;
  }

  /** The iterations of a round. @param {Run} run @param {number} round @returns {Step[]} */
  function stepsOf(run, round) {
    const index = indexOf(run);
    const {iteration, client, value, q1, q3, tau} = run.steps;
    return (index.of.get(round) ?? []).map((i) => ({
      iteration: iteration[i],
      clients: client.slice(index.start[i], index.start[i + 1]),
      values: value.slice(index.start[i], index.start[i + 1]),
      q1: q1[i],
      q3: q3[i],
      tau: tau[i],
    }));
  }

  /** How often each client trained. @param {Run} run @returns {number[]} */
  function participation(run) {
    if (run.taken) return run.taken;
    const counts = new Array(run.federation.ids.length).fill(0);
    for (const client of run.steps.client) counts[client]++;
    return counts;
  }

  /**
   * Replace a column from a position on.
   * @param {any[]} column @param {number} from @param {any[]} more
   */
  function splice(column, from, more) {
    column.length = from;
    for (const value of more) column.push(value);
  }

  /**
   * Take in what a live page was sent of a run: its columns from some position on.
   * @param {any} news
   */
  function merge(news) {
    const {curve, curve_from: curveFrom, steps, steps_from: stepsFrom, ...header} = news;
    const old = state.runs.get(news.id);
    const run = Object.assign(
      old ?? {curve: emptyCurve(), steps: emptySteps(), taken: null, federation: null},
      header,
    );
    run.index = null;
    const entries = run.steps.size
      .slice(0, stepsFrom)
      .reduce((/** @type {number} */ sum, /** @type {number} */ n) => sum + n, 0);
    for (const [name, more] of Object.entries(steps))
      splice(run.steps[name], name === "client" || name === "value" ? entries : stepsFrom, more);
    for (const [name, more] of Object.entries(curve)) splice(run.curve[name], curveFrom, more);
    state.runs.set(run.id, run);
  }

  return {state, unpack, runsOf, runsOfMethod, indexOf, stepsOf, participation, merge};
})();
