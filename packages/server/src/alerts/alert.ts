/** Something that a person has to look at. */
export interface AlertNotice {
  /** What kind of trouble, such as `save-failed`. */
  name: string
  /** What it is about, such as a plugin or a file. The same name and key is told once in a while, not each time. */
  key: string
  level: 'critical'
  /** For the operator: what happened and what to do. No secrets: it leaves the machine. */
  message: string
  /** Ids and counts that help to find it. No secrets either. */
  details?: Record<string, string | number | boolean | null>
}

/** Tells an operator. Never throws and never waits: whoever raises an alert has work to do. */
export type Alert = (notice: AlertNotice) => void
