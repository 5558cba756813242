export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const KEY = 'holdfast-studio:theme'

export function savedTheme(): Theme {
  try {
    const saved = localStorage.getItem(KEY)
    return THEMES.find((theme) => theme === saved) ?? 'system'
  } catch {
    // Storage is blocked: the system's choice is a good one.
    return 'system'
  }
}

/** The style sheet follows the system unless the root element says otherwise. */
export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

export function saveTheme(theme: Theme): void {
  applyTheme(theme)
  try {
    localStorage.setItem(KEY, theme)
  } catch {
    // Storage is blocked: the choice lasts as long as the page.
  }
}
