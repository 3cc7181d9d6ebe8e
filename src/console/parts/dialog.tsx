import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

/** A modal dialog, open for as long as it is drawn. Escape closes it; the browser gives the focus back. */
export function Dialog({ name, onClose, children }: { name: string; onClose(): void; children: ComponentChildren }) {
  const place = useRef<HTMLDialogElement>(null);
  const title = useId();
  useEffect(() => {
    const before = document.activeElement;
    place.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
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
        {name}
      </h2>
      {children}
    </dialog>
  );
}
