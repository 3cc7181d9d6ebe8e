/**
 * Makes one file of an ES module that browsers run both as a classic script and as a module, whose exports it then has.
 *
 * An `export` in a classic script is a syntax error, and so is `import.meta`. But `await` is a name in a script and an
 * operator in a module, so that the slash behind it divides in the one and begins a regular expression in the other
 * (ECMA-262, 12.9.5 and 13.1). In `await/[/*]/`, a script therefore reads a comment from the asterisk on, and a module does
 * not. Each half of such a line is a comment to the other one; neither `await` is ever evaluated.
 *
 * @param module bundled without imports; it may use `loadedFrom`, the address that the file was loaded from, if there is one
 */
export function scriptAndModule(module) {
  const [statement, names = ""] = /export\s*\{([^}]*)\};?\s*$/.exec(module) ?? [""];
  const code = module.slice(0, module.length - statement.length);
  if (/\bexport\b|\bimport\b/.test(code)) throw new Error("The loader must be one module that imports nothing");
  const pairs = names
    .split(",")
    .filter((each) => each !== "")
    .map((each) => each.trim().split(/\s+as\s+/))
    .map(([inner, outer = inner]) => [inner, outer]);
  const exported = `export const{${pairs.map(([, outer]) => outer).join(",")}}=`;
  const returned = `return{${pairs.map(([inner, outer]) => `${outer}:${inner}`).join(",")}}`;
  return [
    byGoal({ inScript: ";", inModule: `;${exported}` }),
    `(loadedFrom=>{"use strict";${code.trim()}${returned}})(`,
    byGoal({ inScript: "||document.currentScript?.src", inModule: "||import.meta.url" }),
    ");\n",
  ].join("\n");
}

/** A line that goes on in one way in a script and in another in a module. */
function byGoal({ inScript, inModule }) {
  return `0&&await/[/*]/${inModule}//*/]${inScript}`;
}
