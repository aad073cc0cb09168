/** Clients x rounds: participation and update norms. */

const heat = (() => {
  const LEFT = 74;
  const RIGHT = 54;
  const TOP = 8;
  const STEPS = 6;
  const SORTS = [
    {value: "size", text: "data size"},
    {value: "skew", text: "label skew"},
    {value: "label", text: "main label"},
    {value: "participation", text: "participation"},
    {value: "id", text: "name"},
  ];
  const SHOWN = [
    {value: "participation", text: "Participation"},
    {value: "norm", text: "Update norm"},
  ];

  /**
   * One path per colour, so that thousands of cells are a handful of elements.
   * @param {ReturnType<typeof cells.fill>} grid @param {number[]} levels
   * @param {number} wide @param {number} tall
   */
  function paint(grid, levels, wide, tall) {
    const paths = levels.map(() => /** @type {string[]} */ ([]));
    const [w, h] = [
      Math.max(0.6, wide > 4 ? wide - 1 : wide),
      Math.max(0.6, tall > 4 ? tall - 1 : tall),
    ].map((n) => n.toFixed(2));
    grid.values.forEach((value, cell) => {
      if (value == null) return;
      const x = (LEFT + (cell % grid.columns) * wide).toFixed(2);
      const y = (TOP + Math.floor(cell / grid.columns) * tall).toFixed(2);
      paths[cells.levelOf(levels, value)].push(`M${x},${y}h${w}v${h}h-${w}z`);
    });
    // With few levels the strongest colours are left to those that come after.
    return paths.map((path, i) =>
      dom.svg("path", {
        class: `heat-${levels.length > 1 ? Math.round((i * (STEPS - 1)) / (levels.length - 1)) : 2}`,
        d: path.join(""),
      }),
    );
  }

  /** Bars next to the map: data on the left, participation on the right.
   * @param {Run} run @param {ReturnType<typeof cells.fill>} grid @param {number} tall @param {number} right */
  function margins(run, grid, tall, right) {
    const total = (/** @type {number[]} */ of) => {
      const sums = new Float64Array(grid.lines);
      of.forEach((value, client) => {
        sums[grid.lineOf[client]] += value;
      });
      return sums;
    };
    const [sizes, taken] = [total(run.federation.sizes), total(model.participation(run))];
    const bars = (
      /** @type {Float64Array} */ sums,
      /** @type {(length: number) => number} */ from,
      /** @type {number} */ room,
    ) => {
      const most = Math.max(1, ...sums);
      return Array.from(sums, (sum, line) => {
        const length = (sum / most) * room;
        return `M${from(length).toFixed(1)},${(TOP + line * tall).toFixed(2)}h${length.toFixed(1)}v${Math.max(0.6, tall > 4 ? tall - 1 : tall).toFixed(2)}h-${length.toFixed(1)}z`;
      }).join("");
    };
    return [
      dom.svg("path", {class: "margin", d: bars(sizes, (length) => LEFT - 6 - length, 34)}),
      dom.svg("path", {class: "margin", d: bars(taken, () => right + 6, RIGHT - 10)}),
    ];
  }

  /** @param {Run} run @param {number[]} order @param {string} sort @param {number} tall */
  function names(run, order, sort, tall) {
    const {labels, ids} = run.federation;
    if (sort === "label" && labels.length) {
      const starts = order
        .map((client, rank) => ({rank, label: labels[client]}))
        .filter(({label}, i, all) => !i || all[i - 1].label !== label);
      if (starts.length <= 40)
        return starts.flatMap(({rank, label}, i) => {
          const end = starts[i + 1]?.rank ?? order.length;
          const text = dom.svg(
            "text",
            {class: "name", x: LEFT - 44, y: TOP + ((rank + end) / 2) * tall + 3.5},
            String(label),
          );
          return rank
            ? [
                text,
                dom.svg("line", {
                  class: "rule",
                  x1: LEFT - 40,
                  x2: LEFT - 2,
                  y1: TOP + rank * tall - 0.5,
                  y2: TOP + rank * tall - 0.5,
                }),
              ]
            : [text];
        });
    }
    if (tall >= 9)
      return order.map((client, line) =>
        dom.svg(
          "text",
          {class: "name", x: LEFT - 44, y: TOP + (line + 0.5) * tall + 3},
          ids[client],
        ),
      );
    const [first, last] = {
      size: ["most", "least"],
      skew: ["most", "least"],
      participation: ["most", "least"],
    }[sort] ?? [ids[order[0]] ?? "", ids[order[order.length - 1]] ?? ""];
    return [
      dom.svg("text", {class: "name", x: LEFT - 44, y: TOP + 9}, first),
      dom.svg("text", {class: "name", x: LEFT - 44, y: TOP + order.length * tall - 2}, last),
    ];
  }

  /** @param {number[]} rounds @param {number} wide @param {number} columns @param {number} y */
  function ticks(rounds, wide, columns, y) {
    const every =
      [1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000, 2000, 5000].find(
        (n) => (rounds.length / n) * 44 <= columns * wide,
      ) ?? 10000;
    return rounds
      .flatMap((round, position) => ((round + 1) % every && position ? [] : [position]))
      .filter((position, i, all) => i !== 0 || all.length < 2 || all[1] - position >= every * 0.7)
      .map((position) =>
        dom.svg(
          "text",
          {
            class: "tick",
            x: LEFT + (Math.floor((position * columns) / rounds.length) + 0.5) * wide,
            y: y + 14,
          },
          String(rounds[position] + 1),
        ),
      );
  }

  /** @param {number[]} levels @param {string} what */
  function key(levels, what) {
    const show = what === "norm" ? numbers.short : numbers.whole;
    const boxes = levels.map((low, i) =>
      dom.html(
        "span",
        {class: "key"},
        dom.svg(
          "svg",
          {width: 14, height: 12, "aria-hidden": "true"},
          dom.svg("rect", {
            class: `heat-${levels.length > 1 ? Math.round((i * (STEPS - 1)) / (levels.length - 1)) : 2}`,
            width: 14,
            height: 12,
            rx: 2,
          }),
        ),
        i + 1 < levels.length && (what === "norm" || levels[i + 1] - low > 1)
          ? `from ${show(low)}`
          : i + 1 === levels.length && levels.length > 1
            ? `${show(low)} or more`
            : show(low),
      ),
    );
    return dom.html(
      "div",
      {class: "keys"},
      dom.html("span", {class: "quiet"}, what === "norm" ? "Mean update norm" : "Times trained"),
      ...boxes,
    );
  }

  /**
   * @param {HTMLElement} box @param {Run} run
   * @param {{sort: string, what: "participation" | "norm", round: number}} view
   * @param {(round: number) => void} onRound
   */
  function draw(box, run, view, onRound) {
    const order = cells.order(run, view.sort);
    const inner = Math.max(120, box.clientWidth - LEFT - RIGHT);
    const grid = cells.fill(run, order, view.what, Math.floor(inner / 1.5));
    const wide = inner / grid.columns;
    const tall = Math.max(1.5, Math.min(13, 430 / grid.lines));
    const bottom = TOP + grid.lines * tall;
    const levels = cells.levels(grid.values, STEPS);
    const picture = dom.svg(
      "svg",
      {
        class: "heat",
        width: LEFT + inner + RIGHT,
        height: bottom + 22,
        tabindex: "0",
        role: "img",
        "aria-label": `${view.what === "norm" ? "Update norm" : "Participation"} of ${order.length} clients in ${grid.rounds.length} rounds`,
      },
      dom.svg("rect", {class: "field", x: LEFT, y: TOP, width: inner, height: grid.lines * tall}),
      ...paint(grid, levels, wide, tall),
      ...margins(run, grid, tall, LEFT + inner),
      ...names(
        run,
        order,
        view.sort,
        grid.lines < order.length ? (grid.lines * tall) / order.length : tall,
      ),
      ...ticks(grid.rounds, wide, grid.columns, bottom),
    );
    const columnOf = (/** @type {number} */ position) =>
      Math.floor((position * grid.columns) / Math.max(1, grid.rounds.length));
    const marker = dom.svg("rect", {
      class: "marker",
      y: TOP - 3,
      width: Math.max(2, wide),
      height: grid.lines * tall + 6,
      rx: 1,
    });
    const stripe = dom.svg("rect", {
      class: "stripe",
      x: LEFT,
      width: inner,
      height: Math.max(2, tall),
      visibility: "hidden",
    });
    picture.append(marker, stripe);
    listen(picture, run, {grid, order, wide, tall, inner}, view, onRound);
    box.replaceChildren(picture, key(levels, view.what));

    return {
      /** @param {number} round */
      mark(round) {
        const position = grid.rounds.indexOf(round);
        marker.setAttribute("visibility", position < 0 ? "hidden" : "visible");
        marker.setAttribute(
          "x",
          String(LEFT + columnOf(Math.max(0, position)) * wide - (wide < 2 ? 0.5 : 0)),
        );
      },
      /** @param {number | null} client */
      point(client) {
        stripe.setAttribute("visibility", client == null ? "hidden" : "visible");
        if (client != null) stripe.setAttribute("y", String(TOP + grid.lineOf[client] * tall));
      },
    };
  }

  /**
   * @param {SVGElement} picture @param {Run} run
   * @param {{grid: ReturnType<typeof cells.fill>, order: number[], wide: number, tall: number, inner: number}} drawn
   * @param {{what: string, round: number}} view @param {(round: number) => void} onRound
   */
  function listen(picture, run, {grid, order, wide, tall, inner}, view, onRound) {
    const cellAt = (/** @type {MouseEvent} */ event) => {
      const box = picture.getBoundingClientRect();
      const [x, y] = [event.clientX - box.left - LEFT, event.clientY - box.top - TOP];
      if (x < 0 || y < 0 || x >= inner || y >= grid.lines * tall) return null;
      const [column, line] = [
        Math.min(grid.columns - 1, Math.floor(x / wide)),
        Math.min(grid.lines - 1, Math.floor(y / tall)),
      ];
      return {
        column,
        line,
        position: Math.min(
          grid.rounds.length - 1,
          Math.ceil((column * grid.rounds.length) / grid.columns),
        ),
      };
    };
    picture.addEventListener("pointermove", (event) => {
      const cell = cellAt(event);
      if (!cell || !grid.rounds.length) {
        tip.hide();
        return;
      }
      const value = grid.values[cell.line * grid.columns + cell.column];
      const client = order[Math.floor((cell.line * order.length) / grid.lines)];
      const word =
        value == null
          ? "did not train"
          : view.what === "norm"
            ? `update norm ${numbers.short(value)}`
            : `trained ${value === 1 ? "once" : value === 2 ? "twice" : `${numbers.whole(value)} times`}`;
      const lines = tree.describe(run, client, undefined);
      lines.push(
        dom.html(
          "div",
          {class: "tip-row"},
          dom.html("span", {}, `round ${grid.rounds[cell.position] + 1}`),
          dom.html("b", {}, word),
        ),
      );
      tip.show(event.clientX, event.clientY, lines);
    });
    picture.addEventListener("pointerleave", tip.hide);
    picture.addEventListener("click", (event) => {
      const cell = cellAt(event);
      if (cell) onRound(grid.rounds[cell.position]);
    });
    picture.addEventListener("keydown", (event) => {
      const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
      if (!step) return;
      event.preventDefault();
      const position = grid.rounds.indexOf(view.round) + step;
      if (position >= 0 && position < grid.rounds.length) onRound(grid.rounds[position]);
    });
  }

  /** The orders that a run can be shown in: a server does not see labels. @param {Run} run */
  function sortsOf(run) {
    const {sizes, distances, labels} = run.federation;
    /** @type {Record<string, any[]>} */
    const columns = {size: sizes, skew: distances, label: labels};
    return SORTS.filter(({value}) => columns[value]?.length !== 0);
  }

  return {draw, sortsOf, SHOWN};
})();
