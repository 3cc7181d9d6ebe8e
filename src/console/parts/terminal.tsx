import { useState } from "preact/hooks";

/** The same in the terminal: a line to copy. */
export function Terminal({ line }: { line: string }) {
  const [copied, setCopied] = useState("");
  const copy = (): void =>
    void navigator.clipboard.writeText(line).then(
      () => setCopied(line),
      () => setCopied(""),
    );
  return (
    <p class="terminal">
      <code>{line}</code>
      <button type="button" onClick={copy}>
        {copied === line ? "Copied" : "Copy"}
      </button>
    </p>
  );
}
