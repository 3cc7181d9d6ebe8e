import { options, type VNode } from "preact";
import { balanced } from "../domain/text.ts";

/**
 * Keeps each text within the element around it. Browsers honour the marks in a text as if their own isolation of elements such
 * as `bdi` consisted of marks, so a stranger's text could end it, and reorder what stands around it.
 */
export function keepIsolates(): void {
  options.vnode = (vnode: VNode | { type: null; props: unknown }) => {
    // Preact draws texts as nodes without a type.
    if (vnode.type === null && typeof vnode.props === "string") vnode.props = balanced(vnode.props);
  };
}
