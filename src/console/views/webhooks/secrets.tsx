import type { Json } from "../../../domain/audit/audit-link.ts";
import { useDesk } from "../../desk.ts";
import { useLive } from "../../live/use-live.ts";
import { EntryLink } from "../../parts/links.tsx";
import { Table } from "../../parts/table.tsx";
import { Terminal } from "../../parts/terminal.tsx";
import { Section } from "../../parts/view.tsx";
import { pmctl } from "../../terminal-line.ts";
import { type SecretPlace, secretPlaces } from "./secret-places.ts";

/** Which secrets sign and verify webhooks, by reference, and how each is replaced without a failed delivery. */
export function Secrets() {
  const { tenant } = useDesk().session;
  const live = useLive(async (api) => {
    const [last] = (await api.listApplies({ limit: 1 })).items;
    if (last === undefined) return { places: [], seq: undefined };
    const { document } = await api.getApply({ seq: last.seq });
    return { places: secretPlaces(document.webhooks as Json | undefined), seq: last.seq };
  }, "");
  return (
    <Section title="Secrets" live={live}>
      {({ places, seq }) => (
        <>
          {seq !== undefined && (
            <p class="soft">
              As the last apply states them, <EntryLink seq={seq} />. A server has those of its start. Their values are
              nowhere on record; the terminal shows their fingerprints:
            </p>
          )}
          <Terminal line={pmctl(tenant, "key", "list")} />
          <Table
            name="Secrets"
            rows={places}
            id={({ path }) => path}
            kind={({ secrets }) => (secrets.length > 1 ? "overlap" : "one")}
            empty="No apply states a webhook secret. Add one below webhooks of the tenant file, and apply it."
            columns={[
              { title: "Of", cell: ({ of }) => <bdi>{of}</bdi> },
              { title: "Place", cell: ({ path }) => <code>{path}</code> },
              { title: "In use", cell: ({ secrets }) => <bdi>{secrets.join("; ")}</bdi> },
              { title: "State", cell: stateOf },
              { title: "Replace", cell: (place) => <Steps of={place} tenant={tenant} /> },
            ]}
          />
        </>
      )}
    </Section>
  );
}

function stateOf({ secrets: { length }, side }: SecretPlace) {
  if (length === 1) return "one secret";
  return (
    <span class="warn">{side === "out" ? `events are signed with all ${length}` : `any of ${length} counts`}</span>
  );
}

/** The steps of a rotation; both secrets count from the third step to the last. */
function Steps({ of: { path, side, rotates, secrets }, tenant }: { of: SecretPlace; tenant: string }) {
  const apply = <Terminal line={`pmctl apply ${tenant} --accept-loosening`} />;
  const isOut = side === "out";
  return (
    <details>
      <summary>{secrets.length > 1 ? "Finish" : "Steps"}</summary>
      <ol class="steps">
        {secrets.length === 1 && (
          <>
            <li>
              {rotates
                ? "Make a new value; the command says where to put what:"
                : "Put a new value where the servers read secrets, such as .env."}
              {rotates && <Terminal line={pmctl(tenant, "key", "rotate", "--type", "webhook", ...rotates)} />}
            </li>
            <li>
              {isOut
                ? `Refer to it in secret of ${path}, and move the old reference to previousSecrets.`
                : `Add its reference to ${path}.`}{" "}
              Apply; the plan lists the new variable:
              {apply}
            </li>
            <li>Start the servers again, one after the other. Both secrets count from now on.</li>
          </>
        )}
        <li>
          {isOut
            ? "Give the new value to the receiver, and send it a test event."
            : "Give the new value to the provider, and wait for a delivery that it signs."}
        </li>
        <li>
          {isOut ? `Empty previousSecrets of ${path}` : `Remove the old reference from ${path}`}, apply, and start the
          servers again:
          <Terminal line={`pmctl apply ${tenant}`} />
        </li>
      </ol>
    </details>
  );
}
