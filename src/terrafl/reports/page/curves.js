/** The score per round, per client update and per second, drawn by uPlot. */

const curves = (() => {
  const AXES = [
    {value: "round", text: "Per round", unit: "round"},
    {value: "updates", text: "Per client update", unit: "client updates"},
    {value: "seconds", text: "Per second", unit: "seconds"},
  ];

  const WHOLE = [1, 2, 5].flatMap((n) => [n, n * 10, n * 100, n * 1e3, n * 1e4, n * 1e5, n * 1e6]);
  WHOLE.sort((a, b) => a - b);

  /**
   * @param {Group} group
   * @param {"round" | "updates" | "seconds"} axis
   */
  function bandsOf(group, axis) {
    return group.methods.map((method, number) => ({
      method,
      band: bands.average(
        model
          .runsOfMethod(group.slug, number)
          .map((run) => ({x: run.curve[axis], y: run.curve.accuracy})),
      ),
    }));
  }

  /** Hex colour with an opacity. @param {string} hex @param {number} alpha */
  const faded = (hex, alpha) =>
    hex +
    Math.round(alpha * 255)
      .toString(16)
      .padStart(2, "0");

  /**
   * @param {HTMLElement} card
   * @param {Group} group
   */
  function create(card, group) {
    /** @type {"round" | "updates" | "seconds"} */
    let axis = "round";
    const {name, is_percent: percent} = group.metric;
    const title = name.charAt(0).toUpperCase() + name.slice(1);
    /** @type {Set<string>} */
    const hidden = new Set();
    /** @type {any} */
    let plot = null;
    /** @type {ReturnType<typeof bandsOf>} */
    let shown = [];
    const canvas = dom.html("div", {class: "plot", tabindex: "0", role: "img"});
    const legend = dom.html("div", {class: "legend", role: "group", "aria-label": "Methods"});
    const budget = dom.html("div", {class: "budget"});
    card.replaceChildren(
      dom.segments("Count", AXES, axis, (value) => {
        axis = /** @type {any} */ (value);
        rebuild();
      }),
      canvas,
      legend,
    );

    /** @param {any} u */
    function placeBudget(u) {
      if (axis !== "updates") {
        budget.remove();
        return;
      }
      const at = u.valToPos(group.budget, "x");
      budget.hidden = at < 0 || at > u.over.clientWidth;
      budget.style.left = `${at}px`;
      budget.classList.toggle("left", at > u.over.clientWidth / 2);
      budget.textContent = `B = ${numbers.whole(group.budget)}`;
      u.over.append(budget);
    }

    /** @param {any} u */
    function read(u) {
      const {left, top} = u.cursor;
      if (left == null || left < 0) {
        tip.hide();
        return;
      }
      const at = u.posToVal(left, "x");
      const visible = shown.filter(({method, band}) => band && !hidden.has(method.name));
      const rows = [];
      let place = at;
      for (const {method, band} of visible) {
        if (
          !band ||
          (at < band.x[0] - 1e-9 && band.x.length > 1) ||
          at > band.x[band.x.length - 1] + (band.x[1] - band.x[0] || 1)
        )
          continue;
        const i = bands.nearest(band.x, at);
        if (axis === "round") place = band.x[i];
        const scatter = band.seeds > 1 ? ` ± ${numbers.score(band.sd[i], percent)}` : "";
        rows.push({
          value: band.mean[i],
          line: dom.html(
            "div",
            {class: "tip-row"},
            swatch(method.style),
            dom.html("span", {}, method.name),
            dom.html("b", {}, `${numbers.score(band.mean[i], percent)}${scatter}`),
          ),
        });
      }
      rows.sort((a, b) => b.value - a.value);
      const unit = AXES.find(({value}) => value === axis)?.unit ?? "";
      const amount = axis === "seconds" ? numbers.fixed(place, 2) : numbers.whole(place);
      const score = percent ? `${name} in %` : name;
      const where = axis === "round" ? `Round ${amount}` : `${amount} ${unit}`;
      const box = u.over.getBoundingClientRect();
      tip.show(box.left + left, box.top + Math.max(0, top), [
        dom.html("div", {class: "tip-title"}, `${where}, ${score}`),
        ...rows.map(({line}) => line),
      ]);
    }

    function table() {
      const visible = shown.filter(({method, band}) => band && !hidden.has(method.name));
      const tables = visible.map(
        ({band}) =>
          band && [
            band.x,
            band.mean,
            band.mean.map((m, i) => m + band.sd[i]),
            band.mean.map((m, i) => m - band.sd[i]),
          ],
      );
      return tables.length ? uPlot.join(tables) : [[0], [null]];
    }

    function rebuild() {
      plot?.destroy();
      shown = bandsOf(group, axis);
      const visible = shown.filter(({method, band}) => band && !hidden.has(method.name));
      const series = [{}];
      const fills = [];
      for (const {method} of visible) {
        const colour = theme.colour(method.style);
        const first = series.length;
        const strong = method.name === "Terraform";
        series.push({
          label: method.name,
          stroke: colour,
          width: strong ? 2.6 : 1.7,
          dash: theme.dash(method.style),
          points: {show: false},
        });
        for (const edge of ["high", "low"])
          series.push({label: edge, stroke: "transparent", width: 0, points: {show: false}});
        fills.push({series: [first + 1, first + 2], fill: faded(colour, 0.11)});
      }
      if (!visible.length) series.push({});
      const ink = theme.variable("--quiet");
      const line = {stroke: theme.variable("--line"), width: 1};
      const unit = AXES.find(({value}) => value === axis);
      plot = new uPlot(
        {
          width: canvas.clientWidth || 600,
          height: innerWidth < 640 ? 260 : 340,
          legend: {show: false},
          cursor: {points: {show: false}, y: false, drag: {x: true, y: false}},
          scales: {
            x: {time: false},
            y: {
              range: (
                /** @type {any} */ _,
                /** @type {number} */ low,
                /** @type {number} */ high,
              ) => uPlot.rangeNum(low ?? 0, high ?? (percent ? 100 : 1), 0.06, true),
            },
          },
          series,
          bands: fills,
          axes: [
            {
              stroke: ink,
              grid: {show: false},
              ticks: line,
              incrs: axis === "seconds" ? undefined : WHOLE, // rounds and updates come whole
              label: {
                round: "Rounds",
                updates: "Client updates",
                seconds: "Seconds of selection and training",
              }[axis],
              labelSize: 22,
              size: 36,
              font: "12px system-ui, sans-serif",
              labelFont: "12px system-ui, sans-serif",
            },
            {
              stroke: ink,
              grid: line,
              ticks: {show: false},
              label: percent ? `${title} (%)` : title,
              labelSize: 20,
              size: 40,
              font: "12px system-ui, sans-serif",
              labelFont: "12px system-ui, sans-serif",
            },
          ],
          hooks: {setCursor: [read], draw: [placeBudget]},
        },
        table(),
        canvas,
      );
      plot.over.addEventListener("mouseleave", tip.hide);
      const last = visible.map(
        ({method, band}) =>
          band && `${method.name} ${numbers.score(band.mean[band.mean.length - 1], percent)}`,
      );
      canvas.setAttribute(
        "aria-label",
        `${title}${percent ? " in percent" : ""} ${unit?.text.toLowerCase()}, at the end: ${last.join(", ")}`,
      );
      if (!visible.length) canvas.setAttribute("aria-label", "No evaluation to draw yet");
      card.classList.toggle("empty", !visible.length);
      drawLegend();
    }

    function drawLegend() {
      legend.replaceChildren(
        ...shown.map(({method, band}) =>
          dom.html(
            "button",
            {
              type: "button",
              "aria-pressed": hidden.has(method.name) ? "false" : "true",
              disabled: !band,
              onclick: () => {
                if (!hidden.delete(method.name)) hidden.add(method.name);
                rebuild();
                /** @type {HTMLElement} */ (
                  legend.children[shown.findIndex((s) => s.method === method)]
                ).focus();
              },
            },
            swatch(method.style),
            method.name,
          ),
        ),
      );
    }

    canvas.addEventListener("keydown", (event) => {
      const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
      if (!step || !plot) return;
      event.preventDefault();
      const {width} = plot.over.getBoundingClientRect();
      const steps = Math.min(plot.data[0].length - 1, Math.max(20, width / 8)) || 1;
      const left =
        plot.cursor.left == null || plot.cursor.left < 0
          ? 0
          : plot.cursor.left + (step * width) / steps;
      plot.setCursor({left: Math.min(width, Math.max(0, left)), top: plot.over.clientHeight / 3});
    });
    canvas.addEventListener("blur", () => {
      plot?.setCursor({left: -10, top: -10});
      tip.hide();
    });

    function update() {
      const fresh = bandsOf(group, axis);
      if (!plot || fresh.some(({band}, i) => !band !== !shown[i]?.band)) {
        rebuild();
        return;
      }
      shown = fresh;
      plot.setData(table());
    }

    rebuild();
    return {
      rebuild,
      update,
      resize: () => plot.setSize({width: canvas.clientWidth, height: plot.height}),
    };
  }

  /** A short piece of a method's line. @param {number} style */
  const swatch = (style) =>
    dom.svg(
      "svg",
      {class: "swatch", width: 26, height: 10, "aria-hidden": "true"},
      dom.svg("line", {
        x1: 1,
        x2: 25,
        y1: 5,
        y2: 5,
        stroke: theme.colour(style),
        "stroke-width": 2.4,
        "stroke-dasharray": theme.dash(style).join(" "),
      }),
    );

  return {create, swatch};
})();
