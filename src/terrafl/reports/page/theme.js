/** Light and dark colours: the system setting, or the choice of the reader. */

const theme = (() => {
  const root = document.documentElement;
  const KEY = "terrafl-theme";
  const CYCLE = /** @type {const} */ (["auto", "light", "dark"]);
  const SIGNS = {auto: "◐", light: "☀", dark: "☾"};
  const WORDS = {auto: "system setting", light: "light", dark: "dark"};
  /** @type {(() => void)[]} */
  const listeners = [];
  const system = matchMedia("(prefers-color-scheme: dark)");

  // Okabe and Ito's palette; black and dark blue give way on a dark ground.
  const LIGHT = ["#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7"];
  const DARK = ["#f2f0ea", "#E69F00", "#7CC7F2", "#1FC79A", "#4AA8E8", "#FF7A2E", "#E39CC3"];
  const DASHES = [[], [8, 3], [2, 3], [8, 3, 2, 3], [12, 4]];

  /** @returns {typeof CYCLE[number]} */
  function chosen() {
    try {
      const kept = localStorage.getItem(KEY);
      return kept === "light" || kept === "dark" ? kept : "auto";
    } catch {
      return "auto"; // a page opened from disk may not be allowed to remember
    }
  }

  let mode = chosen();
  const isDark = () => mode === "dark" || (mode === "auto" && system.matches);

  function apply() {
    root.dataset.theme = isDark() ? "dark" : "light";
    const button = document.getElementById("theme");
    if (button) {
      button.textContent = SIGNS[mode];
      button.setAttribute("aria-label", `Colours: ${WORDS[mode]}`);
    }
    for (const listener of listeners) listener();
  }

  function start() {
    apply();
    system.addEventListener("change", apply);
    document.getElementById("theme")?.addEventListener("click", () => {
      mode = CYCLE[(CYCLE.indexOf(mode) + 1) % CYCLE.length];
      try {
        localStorage.setItem(KEY, mode);
      } catch {
        /* forgotten when the page is closed */
      }
      apply();
    });
  }

  /** @param {number} style */
  const colour = (style) => (isDark() ? DARK : LIGHT)[style % LIGHT.length];
  /** @param {number} style */
  const dash = (style) => DASHES[style % DASHES.length];
  /** A colour of the style sheet, as it looks now. @param {string} name */
  function variable(name) {
    const probe = document.body.appendChild(document.createElement("i"));
    probe.style.color = `var(${name})`;
    const colour = getComputedStyle(probe).color;
    probe.remove();
    return colour;
  }
  /** @param {() => void} listener */
  const onChange = (listener) => listeners.push(listener);

  return {start, colour, dash, variable, onChange};
})();
