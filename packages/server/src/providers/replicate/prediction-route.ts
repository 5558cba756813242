/** Where and with what a prediction is asked for. */
export interface PredictionRoute {
  path: string
  version?: string
}

const NAME = '[A-Za-z0-9][A-Za-z0-9._-]*'
const OFFICIAL = new RegExp(`^${NAME}/${NAME}$`)
const DEPLOYMENT = new RegExp(`^deployments/${NAME}/${NAME}$`)
const VERSION = new RegExp(`^(?:${NAME}/${NAME}:)?[0-9a-f]{64}$`)

/**
 * A model is an official one (`owner/name`), a version (64 hex digits, with or without `owner/name:` in front) or a
 * deployment (`deployments/owner/name`). Null for anything else.
 */
export function predictionRoute(model: string): PredictionRoute | null {
  if (OFFICIAL.test(model)) return { path: `/models/${model}/predictions` }
  if (DEPLOYMENT.test(model)) return { path: `/${model}/predictions` }
  if (VERSION.test(model)) return { path: '/predictions', version: model }
  return null
}
