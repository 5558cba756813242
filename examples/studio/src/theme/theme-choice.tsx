import { useState } from 'react'
import { Segmented } from '../ui/segmented.tsx'
import { savedTheme, saveTheme, THEMES, type Theme } from './theme.ts'

const LABELS: Record<Theme, string> = { system: 'System', light: 'Light', dark: 'Dark' }

export function ThemeChoice() {
  const [theme, setTheme] = useState(savedTheme)
  return (
    <Segmented
      label="Appearance"
      options={THEMES.map((value) => ({ value, label: LABELS[value] }))}
      value={theme}
      onChange={(next) => {
        setTheme(next)
        saveTheme(next)
      }}
    />
  )
}
