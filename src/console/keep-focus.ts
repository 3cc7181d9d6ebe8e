/**
 * Keeps the focus in the view. Where what has it goes or is disabled, such as the button of a row that is done, its
 * table gets it, or the view's heading: a browser would give it to the page.
 */
export function keepFocus(main: HTMLElement): () => void {
  let held: Element | undefined;
  let table: HTMLElement | null = null;
  const isGone = (element: Element): boolean => !element.isConnected || element.matches(":disabled");
  const come = ({ target }: FocusEvent): void => {
    held = target as Element;
    table = held.closest(".scroll");
  };
  const leave = ({ target }: FocusEvent): void =>
    queueMicrotask(() => {
      // A person clicked beside everything.
      if (held === target && !isGone(held as Element) && document.activeElement === document.body) held = undefined;
    });
  const mend = (): void => {
    if (!held || !isGone(held)) return;
    const { activeElement } = document;
    if (activeElement !== document.body && activeElement !== held) return;
    const dialog = held.closest("dialog[open]");
    if (dialog?.isConnected) return;
    (table?.isConnected ? table : (main.querySelector("h1") ?? main)).focus({ preventScroll: true });
  };
  const observer = new MutationObserver(mend);
  observer.observe(main, { childList: true, subtree: true, attributeFilter: ["disabled"] });
  main.addEventListener("focusin", come);
  main.addEventListener("focusout", leave);
  return () => observer.disconnect();
}
