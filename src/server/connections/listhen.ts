import { registerHooks } from "node:module";

const EMPTY = "data:text/javascript,export default {}";

/**
 * listhen imports node-forge, TLS in JavaScript, for certificates that it makes itself: 7 MB in memory. pmctl only opens
 * plain sockets with it, so an empty module takes the place of node-forge.
 */
const hooks = registerHooks({
  resolve: (specifier, context, next) =>
    specifier === "node-forge" && context.parentURL?.includes("/listhen/")
      ? { url: EMPTY, shortCircuit: true }
      : next(specifier, context),
});

export const { listen } = await import("listhen");
hooks.deregister();
