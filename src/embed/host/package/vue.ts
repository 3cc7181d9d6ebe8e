import { defineComponent, h, onBeforeUnmount, onMounted, type PropType, ref, watch } from "vue";
import { type Action, type EmbedEvent, type EmbedOptions, type Kept, keepWidget } from "./index.ts";

export type * from "./index.ts";

/** A widget that follows its props and emits `event` and `action`. */
export const PredictionMarket = defineComponent({
  name: "PredictionMarket",
  props: {
    /** The service's, such as `https://predict.example.com`. */
    origin: { type: String, required: true },
    view: String as PropType<EmbedOptions["view"]>,
    theme: String as PropType<EmbedOptions["theme"]>,
    height: Number,
    marketId: String,
    marketIds: Array as PropType<readonly string[]>,
    autoHeight: Boolean,
    locale: String,
    loading: String as PropType<EmbedOptions["loading"]>,
    consent: { type: Boolean, default: true },
    brand: Object as PropType<EmbedOptions["brand"]>,
    getToken: Function as PropType<EmbedOptions["getToken"]>,
  },
  emits: {
    event: (_event: EmbedEvent) => true,
    action: (_action: Action) => true,
  },
  setup(props, { emit, expose }) {
    const place = ref<HTMLDivElement>();
    let kept: Kept | undefined;
    const options = (): EmbedOptions => {
      const { origin: _, ...given } = props;
      return {
        ...given,
        onEvent: (event) => emit("event", event),
        onAction: (action) => emit("action", action),
      };
    };
    const begin = (): void => {
      kept?.end();
      if (place.value) kept = keepWidget(props.origin, place.value, options());
    };
    onMounted(begin);
    watch(() => props.origin, begin);
    watch(
      () => ({ ...props }),
      () => kept?.update(options()),
      { deep: true },
    );
    onBeforeUnmount(() => kept?.end());
    expose({
      setTheme: (theme: NonNullable<EmbedOptions["theme"]>) => kept?.setTheme(theme),
      refreshToken: () => kept?.refreshToken(),
    });
    return () => h("div", { ref: place });
  },
});
