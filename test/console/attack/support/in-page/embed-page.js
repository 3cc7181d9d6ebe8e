/** Shows a page of another origin in every kind of frame, and opens it in a window. @returns the frames whose contents are in reach */
export default async function embedPage({ to }) {
  const seen = [];
  for (const [tag, attribute] of [
    ["iframe", "src"],
    ["object", "data"],
    ["embed", "src"],
  ]) {
    const element = document.createElement(tag);
    element.setAttribute(attribute, to);
    const settled = new Promise((resolve) => {
      element.onload = resolve;
      element.onerror = resolve;
      // An object or an embed that was refused may say nothing.
      setTimeout(resolve, 300);
    });
    document.body.append(element);
    await settled;
    try {
      if (element.contentDocument?.body.textContent) seen.push(tag);
    } catch {}
  }
  window.held = open(to);
  return seen;
}
