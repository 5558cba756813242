import { panelStyles } from './panel-styles.ts'
import { pieceStyles } from './piece-styles.ts'

/** As objects, which a strict Content-Security-Policy allows; a style element only where there are none. */
export function addStyles(root: ShadowRoot, window: Window & typeof globalThis): void {
  const css = panelStyles + pieceStyles
  try {
    const sheet = new window.CSSStyleSheet()
    sheet.replaceSync(css)
    root.adoptedStyleSheets = [sheet]
  } catch {
    const style = window.document.createElement('style')
    style.textContent = css
    root.append(style)
  }
}
