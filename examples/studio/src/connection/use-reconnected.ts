import { useConnection } from '@holdfast/client/react'
import { useEffect, useRef } from 'react'

/** Calls back when the connection is there again after having been away. */
export function useReconnected(callback: () => void): void {
  const { connection } = useConnection()
  const wasAway = useRef(false)
  useEffect(() => {
    const isAway = connection === 'offline'
    if (wasAway.current && !isAway) callback()
    wasAway.current = isAway
  }, [connection, callback])
}
