import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { Sentence } from "./time.tsx";

/** A modal dialog, open for as long as it is drawn. Escape closes it; what had the focus before gets it back. */
export function Dialog({ name, onClose, children }: { name: string; onClose(): void; children: ComponentChildren }) {
  const place = useRef<HTMLDialogElement>(null);
  const title = useId();
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    place.current?.showModal();
    // Until the dialog is gone, nothing behind it can have the focus. A button may have been disabled by what it did.
    return () =>
      queueMicrotask(() =>
        (before?.isConnected && before.matches(":enabled, a") ? before : document.querySelector("h1"))?.focus(),
      );
  }, []);
  return (
    <dialog
      ref={place}
      aria-labelledby={title}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <h2 id={title} dir="auto">
        <Sentence of={name} />
      </h2>
      {children}
    </dialog>
  );
}
