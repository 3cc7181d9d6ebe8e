/** Runs before the page's own scripts: what strangers' texts would call, and what the policy refused, is remembered. */
export default function setTraps() {
  window.caught = [];
  window.hit = () => window.caught.push("a script ran");
  addEventListener("securitypolicyviolation", ({ violatedDirective }) => window.caught.push(violatedDirective));
}
