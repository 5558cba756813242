/** The tab's title says what a visitor who looks at another tab wants to know. */
export function pageTitle(counts: { unread: number; working: number }): string {
  const unread = counts.unread > 0 ? `(${counts.unread}) ` : ''
  const working = counts.working > 0 ? `${counts.working} working · ` : ''
  return `${unread}${working}Holdfast Studio`
}
