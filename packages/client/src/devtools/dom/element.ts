/** A description of an element. Views return these; `render` makes the page agree. */
export interface VNode {
  tag: string
  /** Tells siblings apart, so that a row keeps its element (and with it focus and selection) when others come or go. */
  key: string | number | undefined
  props: Props
  children: (VNode | string)[]
}

type Handler = (event: never) => void

/** `on…` is a listener; an input’s `value` is a property; the rest are attributes, left out when null or false. */
export type Props = Record<string, string | number | boolean | null | undefined | Handler>

export type Child = VNode | string | number | null | undefined | false | Child[]

export function h(tag: string, props: Props & { key?: string | number } = {}, ...children: Child[]): VNode {
  const { key, ...rest } = props
  return { tag, key, props: rest, children: flat(children) }
}

function flat(children: Child[]): (VNode | string)[] {
  const all: (VNode | string)[] = []
  for (const child of children) {
    if (Array.isArray(child)) all.push(...flat(child))
    else if (typeof child === 'number') all.push(String(child))
    else if (child) all.push(child)
  }
  return all
}
