import { createRequire } from "node:module";
import { extname } from "node:path";

/**
 * A module that is loaded, with everything that it imports, when its function is first called. For what a usual command
 * does not need, such as the schemas behind an error's text.
 *
 * @param from `import.meta.url` of the caller
 * @param name the module's path from there, without its extension: sources and build have different ones
 */
export function onDemand<Module>(from: string, name: string): () => Module {
  let loaded: Module | undefined;
  return () => {
    loaded ??= createRequire(from)(name + extname(from)) as Module;
    return loaded;
  };
}
