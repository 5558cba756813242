import 'react'

declare module 'react' {
  /** Custom properties carry values from data to style sheets (set by the CSSOM, which a strict CSP allows). */
  interface CSSProperties {
    [variable: `--${string}`]: string | number | undefined
  }
}
