import { useDesk } from "../desk.ts";
import { useLive } from "../live/use-live.ts";
import { View } from "../parts/view.tsx";
import { addressOf } from "../router.ts";

/** An address without a view. */
export function NotFound() {
  const { tenant } = useDesk().session;
  const live = useLive(async () => true, "");
  return (
    <View name="Not found" live={live} line={`pmctl inbox ${tenant}`}>
      {() => (
        <p class="empty">
          No view has this address. <a href={addressOf("/")}>Go to Today</a>
        </p>
      )}
    </View>
  );
}
