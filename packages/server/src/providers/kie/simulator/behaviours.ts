import { COMMON_BEHAVIOURS, createVocabulary } from '../../simulation/behaviours.ts'

/** What a word in square brackets in a prompt makes the simulator do: the common ones, and KIE's own. */
export const BEHAVIOURS = {
  ...COMMON_BEHAVIOURS,
  hidden: 'not visible yet: 422 recordInfo is null',
  progress: 'reports progress whatever the model',
  'empty-result': 'success with resultJson ""',
  'null-result': 'success with resultJson null',
  'bad-result': 'success with resultJson cut off',
  'text-result': 'success with a resultObject instead of URLs',
  'object-result': 'success with resultJson as an object instead of a string',
  'text-times': 'times as text, as the older models have them',
  'late-result': 'success with resultJson cut off in the first 2 polls that see it',

  // Its files
  'dead-links': 'the links to its results are dead from the start; new ones work',
  'gone-files': 'its results are gone: links lead nowhere, and new ones too',
} as const

export const { read: readBehaviours, strip: withoutBehaviours } =
  createVocabulary<keyof typeof BEHAVIOURS>(BEHAVIOURS)
