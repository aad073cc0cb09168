/** One run of a group in detail: its selection tree and its heat map. */

const explorer = (() => {
  /**
   * What is being looked at in each group; outlives the charts when a live page is rebuilt.
   * @typedef {{run: Run | null, round: number, sort: string, what: "participation" | "norm",
   *   follow: boolean}} View
   * @type {Map<string, View>}
   */
  const views = new Map();

  /**
   * @param {HTMLElement} treeCard @param {HTMLElement} heatCard @param {Group} group
   */
  function create(treeCard, heatCard, group) {
    const view = views.get(group.slug) ?? {
      run: null,
      round: 0,
      sort: "size",
      what: "participation",
      follow: true,
    };
    views.set(group.slug, view);
    let offered = "";
    /** @type {ReturnType<typeof heat.draw> | null} */
    let map = null;
    let timer = 0;
    const slider = /** @type {HTMLInputElement} */ (
      dom.html("input", {type: "range", "aria-label": "Round", min: 0, step: 1})
    );
    const shown = dom.html("output", {class: "round-number"}, "");
    const play = dom.html(
      "button",
      {type: "button", class: "round", "aria-label": "Play the rounds", title: "Play the rounds"},
      "▶",
    );
    const treeBox = dom.html("div", {class: "tree-box"});
    const heatBox = dom.html("div", {class: "heat-box"});
    const words = dom.html("p", {class: "in-words", "aria-live": "polite"});
    const pickers = dom.html("div", {class: "controls"});
    let sorter = dom.html("span", {});
    let sortable = "";
    const step = (/** @type {number} */ by) => go(rounds()[place() + by]);
    treeCard.replaceChildren(
      pickers,
      dom.html(
        "div",
        {class: "controls slider"},
        play,
        dom.html(
          "button",
          {type: "button", class: "round", "aria-label": "Previous round", onclick: () => step(-1)},
          "‹",
        ),
        slider,
        dom.html(
          "button",
          {type: "button", class: "round", "aria-label": "Next round", onclick: () => step(1)},
          "›",
        ),
        shown,
      ),
      words,
      treeBox,
    );
    heatCard.replaceChildren(
      dom.html(
        "div",
        {class: "controls"},
        dom.segments("Show", heat.SHOWN, view.what, (value) => {
          view.what = /** @type {any} */ (value);
          drawHeat();
        }),
        sorter,
      ),
      heatBox,
    );

    const rounds = () => (view.run ? model.indexOf(view.run).rounds : []);
    const place = () => Math.max(0, rounds().indexOf(view.round));

    /** @param {number | undefined} round */
    function go(round) {
      if (round == null) return;
      view.round = round;
      view.follow = place() === rounds().length - 1;
      drawTree();
      map?.mark(round);
    }

    slider.addEventListener("input", () => go(rounds()[Number(slider.value)]));
    play.addEventListener("click", () => (timer ? stop() : start()));

    function start() {
      if (place() === rounds().length - 1) go(rounds()[0]);
      play.textContent = "❚❚";
      play.setAttribute("aria-label", "Stop");
      timer = setInterval(() => (place() < rounds().length - 1 ? step(1) : stop()), 700);
    }

    function stop() {
      clearInterval(timer);
      timer = 0;
      play.textContent = "▶";
      play.setAttribute("aria-label", "Play the rounds");
    }

    function drawPickers() {
      const runs = model.runsOf(group.slug).filter((run) => run.steps.round.length);
      const methods = group.methods
        .map((method, number) => ({value: String(number), text: method.name}))
        .filter(({value}) => runs.some((run) => run.method === Number(value)));
      const run = view.run;
      // A list that is open must not be replaced by an equal one.
      const offer = JSON.stringify([run?.id, runs.map(({id}) => id), methods]);
      if (offer === offered) return;
      offered = offer;
      const seeds = runs
        .filter(({method}) => method === run?.method)
        .sort((a, b) => a.seed - b.seed);
      pickers.replaceChildren(
        dom.choice("Method", methods, String(run?.method), (value) =>
          choose(
            runs.find((r) => r.method === Number(value) && r.seed === run?.seed) ??
              runs.find((r) => r.method === Number(value)),
          ),
        ),
        dom.choice(
          "Seed",
          seeds.map(({id, seed}) => ({value: String(id), text: String(seed)})),
          String(run?.id),
          (value) => choose(model.state.runs.get(Number(value))),
        ),
      );
      if (model.state.every > 1)
        pickers.append(
          dom.html(
            "span",
            {class: "quiet"},
            `Only every ${model.state.every}th round is shown, to keep this file small.`,
          ),
        );
    }

    /** @param {Run | undefined} run */
    function choose(run) {
      if (!run) return;
      view.run = run;
      const known = rounds();
      view.round =
        known.includes(view.round) && !view.follow ? view.round : known[known.length - 1];
      drawPickers();
      drawTree();
      drawHeat();
    }

    function drawSlider() {
      slider.max = String(Math.max(0, rounds().length - 1));
      slider.value = String(place());
      slider.setAttribute("aria-valuetext", `round ${view.round + 1}`);
      shown.textContent = `round ${view.round + 1} of ${(rounds()[rounds().length - 1] ?? 0) + 1}`;
    }

    function drawTree() {
      if (!view.run) return;
      drawSlider();
      words.textContent = tree.inWords(view.run, view.round, model.stepsOf(view.run, view.round));
      tree.draw(treeBox, view.run, view.round, (client) => map?.point(client));
    }

    /** @param {Run} run */
    function drawSorter(run) {
      const sorts = heat.sortsOf(run);
      if (JSON.stringify(sorts) === sortable) return;
      sortable = JSON.stringify(sorts);
      if (!sorts.some(({value}) => value === view.sort)) view.sort = sorts[0].value;
      const fresh = dom.choice("Sort clients by", sorts, view.sort, (value) => {
        view.sort = value;
        drawHeat();
      });
      sorter.replaceWith(fresh);
      sorter = fresh;
    }

    function drawHeat() {
      if (!view.run) return;
      drawSorter(view.run);
      map = heat.draw(heatBox, view.run, view, go);
      map.mark(view.round);
    }

    /** The last round of most iterations: where there is most to see. @param {Run} run */
    function richest(run) {
      const {rounds, of} = model.indexOf(run);
      const lengths = rounds.map((round) => of.get(round)?.length ?? 0);
      return rounds[lengths.lastIndexOf(lengths.reduce((a, b) => Math.max(a, b), 0))];
    }

    function rebuild() {
      const runs = model.runsOf(group.slug).filter((run) => run.steps.round.length);
      const splits = (/** @type {Run} */ run) => run.steps.tau.some((tau) => tau > 0);
      const kept = view.run && model.state.runs.get(view.run.id);
      const run = (kept && runs.includes(kept) ? kept : null) ?? runs.find(splits) ?? runs[0];
      if (run && !view.run && !model.state.live)
        Object.assign(view, {round: richest(run), follow: false});
      choose(run);
    }

    /** After news: only what changed, and the newest round if that is what was being looked at. */
    function update() {
      // After a reconnection the run is sent again, and is another object.
      if (!view.run || model.state.runs.get(view.run.id) !== view.run) return rebuild();
      const known = rounds();
      const lost = !known.includes(view.round);
      if (view.follow || lost) view.round = known[known.length - 1] ?? 0;
      drawPickers();
      if (view.follow || lost) drawTree();
      else drawSlider();
      drawHeat();
    }

    rebuild();
    return {rebuild, update, resize: rebuild, view};
  }

  return {create};
})();
