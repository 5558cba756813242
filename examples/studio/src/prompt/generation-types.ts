/** What the studio can ask for: the two task types that the server offers out of the box. */
export const GENERATION_TYPES = [
  { type: 'image', label: 'Image' },
  { type: 'video', label: 'Video' },
] as const

export type GenerationType = (typeof GENERATION_TYPES)[number]['type']

/** For types the studio does not know (another app of the same user may have its own), the type itself. */
export function typeLabel(type: string): string {
  return GENERATION_TYPES.find((known) => known.type === type)?.label ?? type
}
