import type { Logo as LogoOf } from "../../domain/theme/stated-theme.ts";

/** The tenant's image, which leads to its site in a tab of its own. */
export function Logo({ logo }: { logo: LogoOf | undefined }) {
  if (!logo) return null;
  const image = <img src={logo.url} alt={logo.alt} referrerpolicy="no-referrer" onError={askWithCors} />;
  return (
    <header class="logo">
      {logo.href === undefined ? (
        image
      ) : (
        <a href={logo.href} target="_blank" rel="noopener">
          {image}
        </a>
      )}
    </header>
  );
}

/**
 * The document shows only images whose server lets other origins embed them. Some say so by CORS instead of by
 * `Cross-Origin-Resource-Policy`, which counts when they are asked that way.
 */
function askWithCors({ currentTarget: image }: { currentTarget: HTMLImageElement }): void {
  if (image.crossOrigin !== null) return;
  image.crossOrigin = "anonymous";
  image.src = `${image.src}`;
}
