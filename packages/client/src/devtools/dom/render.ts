import type { Props, VNode } from './element.ts'

const SVG = 'http://www.w3.org/2000/svg'

/** What an element was last told to be. */
const told = new WeakMap<Node, VNode>()

/** Makes the children of `parent` as described, changing only what differs. */
export function render(parent: ParentNode & Node, children: readonly (VNode | string)[]): void {
  const held = new Map<string, ChildNode>()
  for (const [index, node] of [...parent.childNodes].entries()) held.set(nameOf(node, index), node)
  const names = children.map((child, index) =>
    typeof child === 'string' ? `text ${index}` : named(child, index),
  )
  const wanted = new Set(names)
  // Before anything is placed: an element that has to move loses its focus.
  for (const [name, node] of held) if (!wanted.has(name)) node.remove()
  let at = parent.firstChild
  for (const [index, child] of children.entries()) {
    const node = held.get(names[index] ?? '') ?? create(parent, child)
    if (node === at) at = at.nextSibling
    else parent.insertBefore(node, at)
    if (typeof child !== 'string') update(node as Element, child)
    else if (node.textContent !== child) node.textContent = child
  }
}

const named = ({ tag, key }: VNode, index: number) =>
  key === undefined ? `${tag} ${index}` : `${tag} #${key}`

function nameOf(node: ChildNode, index: number): string {
  const vnode = told.get(node)
  return vnode ? named(vnode, index) : `text ${index}`
}

function create(parent: Node, child: VNode | string): ChildNode {
  const { ownerDocument } = parent
  if (!ownerDocument) throw new Error('Nothing can be rendered outside a document.')
  if (typeof child === 'string') return ownerDocument.createTextNode(child)
  const inSvg = child.tag === 'svg' || (parent as Element).namespaceURI === SVG
  return inSvg ? ownerDocument.createElementNS(SVG, child.tag) : ownerDocument.createElement(child.tag)
}

function update(element: Element, vnode: VNode) {
  const before = told.get(element)
  if (before === vnode) return
  told.set(element, vnode)
  for (const name of Object.keys({ ...before?.props, ...vnode.props })) {
    set(element, name, vnode.props[name], before?.props[name])
  }
  render(element, vnode.children)
}

function set(element: Element, name: string, value: Props[string], before: Props[string]) {
  if (name.startsWith('on')) {
    // One listener for good, which looks up the handler of the moment.
    if (!before) element.addEventListener(name.slice(2), dispatch)
    return
  }
  if (name === 'value' && element.localName === 'input') {
    const input = element as HTMLInputElement
    if (input.value !== value) input.value = String(value ?? '')
    return
  }
  if (value === before) return
  if (value === null || value === undefined || value === false) element.removeAttribute(name)
  else element.setAttribute(name, value === true ? '' : String(value))
}

function dispatch(event: Event) {
  const handler = told.get(event.currentTarget as Element)?.props[`on${event.type}`]
  if (typeof handler === 'function') handler(event as never)
}
