/** What the opener of a window can reach of it. */
export default function reachWindow() {
  window.held?.postMessage({ type: "sign-out" }, "*");
  try {
    return String(window.held?.document?.title ?? "closed");
  } catch {
    return "refused";
  }
}
