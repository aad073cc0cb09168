/** The one tooltip of the page. */

const tip = (() => {
  const box = /** @type {HTMLElement} */ (document.getElementById("tip"));

  /**
   * @param {number} x @param {number} y in the window
   * @param {(Node | string)[]} lines
   */
  function show(x, y, lines) {
    box.replaceChildren(
      ...lines.map((line) => (typeof line === "string" ? dom.html("div", {}, line) : line)),
    );
    box.hidden = false;
    const {offsetWidth: width, offsetHeight: height} = box;
    const left = x + 16 + width > innerWidth ? x - width - 16 : x + 16;
    const top = y + 16 + height > innerHeight ? y - height - 16 : y + 16;
    box.style.left = `${Math.max(4, left)}px`;
    box.style.top = `${Math.max(4, top)}px`;
  }

  const hide = () => {
    box.hidden = true;
  };

  return {show, hide};
})();

const numbers = (() => {
  /** @param {number} value @param {number} [digits] */
  const fixed = (value, digits = 2) =>
    value.toLocaleString("en", {minimumFractionDigits: digits, maximumFractionDigits: digits});
  /** @param {number} value */
  const whole = (value) => Math.round(value).toLocaleString("en");
  /** Three significant digits. @param {number | null} value */
  const short = (value) =>
    value == null
      ? "–"
      : Number(value.toPrecision(3)).toLocaleString("en", {maximumSignificantDigits: 3});
  /** A score: percent, or a plain number. @param {number} value @param {boolean} percent */
  const score = (value, percent) => fixed(value, percent ? 2 : 4);
  return {fixed, whole, short, score};
})();
