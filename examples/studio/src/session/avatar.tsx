import './avatar.css'
import { hueOf } from '../ui/hue-of.ts'

/** The first letter on a colour of one's own. Decoration: the name always stands beside it. */
export function Avatar({ name }: { name: string }) {
  return (
    <span className="avatar" aria-hidden="true" style={{ '--hue': hueOf(name) }}>
      {name.trim().charAt(0).toUpperCase() || '?'}
    </span>
  )
}
