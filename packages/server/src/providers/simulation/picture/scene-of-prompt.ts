import { type Color, hex } from './color.ts'
import { createRandom, hashText } from './noise.ts'
import type { Light } from './palettes.ts'

export type Land = 'mountains' | 'snow' | 'forest' | 'sea' | 'city' | 'desert' | 'space'

/** What a prompt asks for, as far as this painter understands it; the rest follows from the prompt's hash. */
export interface Scene {
  seed: number
  land: Land
  light: Light
  tint: Color | null
  /** Water at the foot of mountains, forests and cities. */
  lake: boolean
  extras: { birds: boolean; boat: boolean; balloons: boolean; lighthouse: boolean; aurora: boolean }
  /** The ready-made clip that fits best. */
  clip: 'mountains' | 'sea' | 'night'
}

const LANDS: [Land, RegExp][] = [
  ['space', /\b(space|planets?|galax\w+|nebulas?|cosmos|cosmic|astronauts?|universe|saturn|mars|rockets?)\b/],
  [
    'city',
    /\b(city|cities|skylines?|skyscrapers?|town|tokyo|york|london|paris|street|cyberpunk|neon|urban)\b/,
  ],
  ['desert', /\b(deserts?|dunes?|sand|sahara|camels?|oasis|canyon)\b/],
  ['snow', /\b(snow\w*|winter|ice|icy|glaciers?|arctic|frozen|penguins?|ski\w*|christmas)\b/],
  [
    'sea',
    /\b(seas?|ocean|beach|waves?|coast\w*|island|ships?|sail\w*|boats?|lighthouses?|harbou?r|surf\w*|whales?)\b/,
  ],
  ['forest', /\b(forests?|woods?|trees?|jungle|pines?|fox|deer|bears?|wolf|wolves|owls?)\b/],
  ['mountains', /\b(mountains?|hills?|alps|valley|peaks?|lakes?|landscape|cliffs?)\b/],
]

const LIGHTS: [Light, RegExp][] = [
  [
    'night',
    /\b(nights?|midnight|moon\w*|stars?|starry|dark|aurora|northern lights|milky way|neon|fireworks)\b/,
  ],
  ['sunset', /\b(sunsets?|golden hour|evening|autumn|fall|fire|lava|warm)\b/],
  ['dusk', /\b(dusk|twilight|blue hour|gloomy|storm\w*|rain\w*)\b/],
  ['dawn', /\b(dawn|sunrise|morning|mist\w*|fog\w*|pastel|dream\w*|spring)\b/],
  ['day', /\b(day|daylight|sunny|noon|summer|bright|clear)\b/],
]

const TINTS: [string, RegExp][] = [
  ['#e8354a', /\b(red|crimson|scarlet|ruby)\b/],
  ['#3f8cff', /\b(blue|azure|sapphire|cyan)\b/],
  ['#35b66a', /\b(green|emerald|jade)\b/],
  ['#ff7fb0', /\b(pink|rose|magenta|cherry)\b/],
  ['#9a5cff', /\b(purple|violet|lavender|lilac)\b/],
  ['#ffb52e', /\b(gold\w*|yellow|amber)\b/],
  ['#ff7a2e', /\b(orange|copper)\b/],
  ['#2ec4b6', /\b(teal|turquoise)\b/],
]

/** By how often chance picks them. Space and city are left to those who ask. */
const USUAL_LANDS: Land[] = ['mountains', 'mountains', 'forest', 'sea', 'desert', 'snow', 'mountains', 'sea']
const USUAL_LIGHTS: Light[] = ['dawn', 'sunset', 'dawn', 'day', 'dusk', 'sunset', 'night']
/** At night a colour that was asked for would hardly show. */
const COLOURFUL_LIGHTS: Light[] = ['dawn', 'sunset', 'day']

export function sceneOfPrompt(prompt: string, variant: number): Scene {
  const words = prompt.toLowerCase()
  const seed = hashText(variant === 0 ? words : `${words}\n${variant}`)
  const random = createRandom(seed)
  const pick = <T>(choices: T[]): T => choices[Math.floor(random() * choices.length)] as T
  const asked = <T>(table: [T, RegExp][]) => table.find(([, pattern]) => pattern.test(words))?.[0]
  const says = (pattern: RegExp) => pattern.test(words)

  const land = asked(LANDS) ?? pick(USUAL_LANDS)
  const tint = asked(TINTS)
  const usual = pick(tint ? COLOURFUL_LIGHTS : USUAL_LIGHTS)
  const light = asked(LIGHTS) ?? (land === 'space' ? 'night' : usual)
  const isDark = light === 'night' || light === 'dusk'
  return {
    seed,
    land,
    light,
    tint: tint ? hex(tint) : null,
    lake: says(/\b(lakes?|river|water|reflect\w*)\b/) || random() < 0.55,
    extras: {
      birds: says(/\b(birds?|gulls?|eagles?)\b/) || (!isDark && random() < 0.5),
      boat: says(/\b(boats?|ships?|sail\w*|yachts?)\b/) || (land === 'sea' && random() < 0.5),
      balloons: says(/\bballoons?\b/),
      lighthouse: says(/\blighthouses?\b/),
      aurora:
        says(/\b(aurora|northern lights)\b/) || (light === 'night' && land !== 'city' && random() < 0.4),
    },
    clip:
      isDark || land === 'space' || land === 'city'
        ? 'night'
        : land === 'sea' || land === 'desert'
          ? 'sea'
          : 'mountains',
  }
}
