import { useEffect, useState } from 'react'

/** True once `condition` has held for that long: what passes by itself in a moment is not worth a banner. */
export function useLasting(condition: boolean, milliseconds: number): boolean {
  const [lasting, setLasting] = useState(false)
  useEffect(() => {
    if (!condition) return
    const timer = setTimeout(() => setLasting(true), milliseconds)
    return () => {
      clearTimeout(timer)
      setLasting(false)
    }
  }, [condition, milliseconds])
  return condition && lasting
}
