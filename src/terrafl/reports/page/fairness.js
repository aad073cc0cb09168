/** How often clients trained: one small histogram per method, all to the same scale. */

const fairness = (() => {
  const MOST_BARS = 24;

  /**
   * Mean number of clients per bin of participation.
   * @param {number[][]} counts one list per run @param {number} wide width of a bin
   */
  function histogram(counts, wide) {
    const bars = [];
    for (const of of counts)
      for (const times of of) {
        const bin = Math.floor(times / wide);
        while (bars.length <= bin) bars.push(0);
        bars[bin] += 1 / counts.length;
      }
    return bars;
  }

  /** @param {HTMLElement} box @param {Group} group */
  function create(box, group) {
    /** @type {any[]} */
    let plots = [];

    function rebuild() {
      for (const plot of plots) plot.destroy();
      const counted = group.methods.map((method, number) => ({
        method,
        counts: model
          .runsOfMethod(group.slug, number)
          .filter((run) => run.federation?.listed)
          .map(model.participation)
          .filter((of) => of.length),
      }));
      const known = counted.filter(({counts}) => counts.length);
      const most = Math.max(
        1,
        ...known.flatMap(({counts}) => counts.map((of) => of.reduce((a, b) => Math.max(a, b), 0))),
      );
      const wide = Math.ceil((most + 1) / MOST_BARS);
      const tables = known.map(({method, counts}) => ({method, bars: histogram(counts, wide)}));
      const highest = Math.max(1, ...tables.flatMap(({bars}) => bars));
      const length = Math.ceil((most + 1) / wide);
      box.replaceChildren();
      plots = tables.map(({method, bars}) => chart(box, method, bars, {wide, highest, length}));
      if (!known.length)
        box.append(
          dom.html("p", {class: "note"}, "Not recorded: these journals do not list the clients."),
        );
    }

    let drawn = -1;
    /** Only if a client has trained since. */
    function update() {
      const trained = model.runsOf(group.slug).reduce((n, run) => n + run.steps.client.length, 0);
      if (trained !== drawn) rebuild();
      drawn = trained;
    }

    rebuild();
    return {rebuild, update, resize: rebuild};
  }

  /**
   * @param {HTMLElement} box @param {Method} method @param {number[]} bars
   * @param {{wide: number, highest: number, length: number}} scale
   */
  function chart(box, method, bars, {wide, highest, length}) {
    const readout = dom.html("span", {class: "readout"}, "");
    const plotBox = dom.html("div", {
      class: "plot",
      role: "img",
      "aria-label": `Clients by number of trainings, ${method.name}: ${bars.map((n, i) => `${i * wide} times ${numbers.short(n)}`).join(", ")}`,
    });
    const card = dom.html(
      "div",
      {class: "card small"},
      dom.html("div", {class: "small-title"}, dom.html("strong", {}, method.name), readout),
      plotBox,
    );
    box.append(card);
    const ink = theme.variable("--quiet");
    const data = [
      Array.from({length}, (_, i) => i * wide),
      Array.from({length}, (_, i) => bars[i] ?? 0),
    ];
    const colour = theme.colour(method.style);
    const font = "11px system-ui, sans-serif";
    return new uPlot(
      {
        width: plotBox.clientWidth || 240,
        height: 140,
        legend: {show: false},
        cursor: {points: {show: false}, x: false, y: false, drag: {x: false, y: false}},
        scales: {
          x: {time: false, range: [-wide * 0.7, (length - 1) * wide + wide * 0.7]},
          y: {range: [0, highest * 1.08]},
        },
        series: [
          {},
          {
            stroke: colour,
            fill: colour,
            width: 0,
            points: {show: false},
            paths: uPlot.paths.bars({size: [0.8, 60]}),
          },
        ],
        axes: [
          {
            stroke: ink,
            grid: {show: false},
            ticks: {show: false},
            size: 22,
            font,
            labelFont: font,
            label: "times trained",
            labelSize: 16,
            gap: 2,
            space: 30,
            incrs: [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000],
          },
          {
            stroke: ink,
            grid: {stroke: theme.variable("--line"), width: 1},
            ticks: {show: false},
            size: 34,
            space: 22,
            font,
            incrs: [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000],
          },
        ],
        hooks: {
          setCursor: [
            (/** @type {any} */ u) => {
              const i = u.cursor.idx;
              if (i == null || u.cursor.left < 0) {
                readout.textContent = "";
                return;
              }
              const times = wide === 1 ? `${data[0][i]}` : `${data[0][i]}–${data[0][i] + wide - 1}`;
              readout.textContent = `${times} times: ${numbers.short(data[1][i])} clients`;
            },
          ],
        },
      },
      data,
      plotBox,
    );
  }

  return {create};
})();
