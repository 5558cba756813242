import { modelOf, noModelText, ownEntry } from '../model-of.ts'
import type { CreateRequest } from '../provider.ts'
import { vendorInput } from '../vendor-input.ts'

/** What can be asked for; each is a path of its own. */
export type RunwayRoute =
  | 'image_to_video'
  | 'text_to_video'
  | 'video_to_video'
  | 'text_to_image'
  | 'image_upscale'
  | 'video_upscale'
  | 'character_performance'
  | (string & {})

export interface RunwayChoices {
  models: Record<string, string>
  routes: Record<string, RunwayRoute>
}

/** The sizes of each shape that the usual models of these routes know. Other models want `ratio` in the parameters. */
const RATIOS: Record<string, Record<string, string>> = {
  text_to_image: {
    '1:1': '1024:1024',
    '16:9': '1920:1080',
    '9:16': '1080:1920',
    '4:3': '1440:1080',
    '3:4': '1080:1440',
  },
  image_to_video: {
    '1:1': '960:960',
    '16:9': '1280:720',
    '9:16': '720:1280',
    '4:3': '1104:832',
    '3:4': '832:1104',
  },
  // These two are all that gen4.5 has without a picture to start from.
  text_to_video: { '16:9': '1280:720', '9:16': '720:1280' },
}
const DEFAULT_ASPECT = '16:9'
const DEFAULT_SECONDS = 5

/**
 * Where to send a task, and what. `prompt` and `aspect_ratio`, as our own types have them, become what Runway calls
 * them. If the type's schema has parameters in Runway's own words, those take precedence.
 */
export function requestOf(
  request: Pick<CreateRequest, 'type' | 'params' | 'model'>,
  { models, routes }: RunwayChoices,
): { route: RunwayRoute; body: Record<string, unknown> } | { refuse: string } {
  const { type } = request
  const { prompt, aspect_ratio: aspect, ...given } = vendorInput(request.params)
  const model = modelOf(request, models)
  if (!model) return { refuse: noModelText(type) }
  const route = routeOf(type, given, routes)
  if (!route) {
    return { refuse: `It is not set what “${type}” asks of Runway. Choose another type.` }
  }
  const ratios = Object.hasOwn(RATIOS, route) ? RATIOS[route] : undefined
  const shape = typeof aspect === 'string' ? aspect : DEFAULT_ASPECT
  const ratio = ratios && ownEntry(ratios, shape)
  if (ratios && !ratio && given.ratio === undefined) {
    return { refuse: `The shape ${shape} cannot be made here. Choose ${Object.keys(ratios).join(', ')}.` }
  }
  return {
    route,
    body: {
      model,
      ...(typeof prompt === 'string' ? { promptText: prompt } : {}),
      ...(ratio ? { ratio } : {}),
      ...(route === 'text_to_video' || route === 'image_to_video' ? { duration: DEFAULT_SECONDS } : {}),
      ...given,
    },
  }
}

function routeOf(
  type: string,
  params: Record<string, unknown>,
  routes: Record<string, RunwayRoute>,
): RunwayRoute | undefined {
  const set = ownEntry(routes, type) ?? undefined
  // A picture to start from turns words into words about that picture.
  if (params.promptImage !== undefined && (set === undefined || set === 'text_to_video')) {
    return 'image_to_video'
  }
  return set
}
