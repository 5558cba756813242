/**
 * Where the visitor is, kept in the address: a reload, a bookmark and the back button all lead to the same place.
 *
 * - `start`: nowhere in particular; the studio opens the newest conversation.
 * - `new`: an empty conversation that the first prompt will create.
 * - `unfiled`: generations that belong to no conversation (F14).
 */
export type Route =
  | { at: 'start' }
  | { at: 'new' }
  | { at: 'unfiled' }
  | { at: 'conversation'; conversationId: string }

const CONVERSATION = /^#\/conversations\/([\w-]+)$/

export function parseRoute(hash: string): Route {
  if (hash === '#/new') return { at: 'new' }
  if (hash === '#/unfiled') return { at: 'unfiled' }
  const id = CONVERSATION.exec(hash)?.[1]
  return id ? { at: 'conversation', conversationId: id } : { at: 'start' }
}

export function hrefOf(route: Route): string {
  if (route.at === 'conversation') return `#/conversations/${route.conversationId}`
  return route.at === 'start' ? '#/' : `#/${route.at}`
}
