/**
 * Which device this tab plays. `?device=phone` gives the client a scope of its own (local copy, lock, channel)
 * and the studio a session of its own, so that one browser can show what two devices do.
 */
export interface Device {
  /** Null: the browser itself. */
  name: string | null
  /** Part of every storage, lock and channel name. */
  app: string
  /** Whom the other device was signed in as when it opened this one. */
  suggestedPerson: string | null
}

export function deviceFrom(search: string): Device {
  const query = new URLSearchParams(search)
  const name = query.get('device')?.trim().slice(0, 30) || null
  return { name, app: name ? `studio:${name}` : 'studio', suggestedPerson: query.get('as')?.trim() || null }
}

/** The address that plays another device: the phone from here, and from the phone a tablet. */
export function otherDeviceUrl(device: Device, person: string): string {
  const query = new URLSearchParams({ device: device.name === 'phone' ? 'tablet' : 'phone', as: person })
  return `?${query}`
}
