import { useEffect } from 'react'
import { useHoldfast } from '../../react/holdfast-provider.ts'
import { type DevtoolsOptions, mountDevtools } from '../mount-devtools.ts'

export type HoldfastDevtoolsProps = Omit<DevtoolsOptions, 'container'>

/** The panel for the client of the nearest `HoldfastProvider`. It renders nothing into the app's own tree. */
export function HoldfastDevtools({ initiallyOpen, position, simulation }: HoldfastDevtoolsProps): null {
  const client = useHoldfast()
  useEffect(
    () => mountDevtools(client, { initiallyOpen, position, simulation }),
    [client, initiallyOpen, position, simulation],
  )
  return null
}
