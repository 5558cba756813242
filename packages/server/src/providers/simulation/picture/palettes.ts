import { type Color, hex, mix, tinted } from './color.ts'

export type Light = 'dawn' | 'day' | 'sunset' | 'dusk' | 'night'

export interface Palette {
  /** The sky from top to horizon. */
  zenith: Color
  middle: Color
  horizon: Color
  /** Sun or moon, and what it shines on. */
  light: Color
  cloud: Color
  cloudShade: Color
  /** What is far away takes this colour. */
  haze: Color
  /** What is near. */
  near: Color
  water: Color
}

type Shades = Record<keyof Palette, string>

const SHADES: Record<Light, Shades[]> = {
  dawn: [
    {
      zenith: '#5f84b5',
      middle: '#c9a9c9',
      horizon: '#ffd9b8',
      light: '#fff1d6',
      cloud: '#ffe3d6',
      cloudShade: '#a98fb8',
      haze: '#f0c8bd',
      near: '#2b3553',
      water: '#4a6a94',
    },
    {
      zenith: '#3f7ea6',
      middle: '#9cc6c8',
      horizon: '#ffe0c2',
      light: '#fff4df',
      cloud: '#fff0e2',
      cloudShade: '#8fabb8',
      haze: '#dcd9cc',
      near: '#1f3d47',
      water: '#3b7a86',
    },
    {
      zenith: '#7a6fb0',
      middle: '#e0a3b4',
      horizon: '#ffdcae',
      light: '#fff0cc',
      cloud: '#ffd9d2',
      cloudShade: '#a57fa8',
      haze: '#efbfae',
      near: '#33294d',
      water: '#6a5f94',
    },
  ],
  day: [
    {
      zenith: '#1f66b8',
      middle: '#62a5dd',
      horizon: '#d5ecf5',
      light: '#fffbea',
      cloud: '#ffffff',
      cloudShade: '#a9c0d6',
      haze: '#bfdbe8',
      near: '#1d4037',
      water: '#1f6f94',
    },
    {
      zenith: '#2a7bb0',
      middle: '#7dc0d0',
      horizon: '#eef3dc',
      light: '#fffbe6',
      cloud: '#fffdf5',
      cloudShade: '#aebfc4',
      haze: '#cfe2d4',
      near: '#27462f',
      water: '#2a8a92',
    },
  ],
  sunset: [
    {
      zenith: '#2c2b63',
      middle: '#b3467c',
      horizon: '#ffa65c',
      light: '#ffe9a8',
      cloud: '#ff9a76',
      cloudShade: '#5a3472',
      haze: '#f08a6b',
      near: '#1d1633',
      water: '#4b2c63',
    },
    {
      zenith: '#273a6b',
      middle: '#d2624f',
      horizon: '#ffcb62',
      light: '#fff2b8',
      cloud: '#ffb37a',
      cloudShade: '#6b3f63',
      haze: '#f0a25c',
      near: '#25182b',
      water: '#6b3d55',
    },
    {
      zenith: '#431f5c',
      middle: '#c93f66',
      horizon: '#ff8e53',
      light: '#ffdc94',
      cloud: '#ff7f72',
      cloudShade: '#5c2561',
      haze: '#e36c5e',
      near: '#1a0f2b',
      water: '#571f57',
    },
  ],
  dusk: [
    {
      zenith: '#131a45',
      middle: '#4a4485',
      horizon: '#e39a8f',
      light: '#fdf0dc',
      cloud: '#b98aa3',
      cloudShade: '#3a3569',
      haze: '#8d7299',
      near: '#0e1029',
      water: '#2a2d5e',
    },
    {
      zenith: '#0e2540',
      middle: '#2f6178',
      horizon: '#e8b48c',
      light: '#fff3dd',
      cloud: '#a9a8a8',
      cloudShade: '#2c4c60',
      haze: '#6f8f95',
      near: '#081820',
      water: '#1d4a5c',
    },
  ],
  night: [
    {
      zenith: '#040a1f',
      middle: '#0d2145',
      horizon: '#2f5578',
      light: '#eef4ff',
      cloud: '#3c587a',
      cloudShade: '#101d36',
      haze: '#264766',
      near: '#03060f',
      water: '#0b1f38',
    },
    {
      zenith: '#0a0720',
      middle: '#241a4d',
      horizon: '#5a4780',
      light: '#fbf3ff',
      cloud: '#54447a',
      cloudShade: '#1a1338',
      haze: '#43376b',
      near: '#060412',
      water: '#191339',
    },
    {
      zenith: '#02101a',
      middle: '#06303f',
      horizon: '#2a6f70',
      light: '#f0fff8',
      cloud: '#2f6066',
      cloudShade: '#0a2630',
      haze: '#1f5258',
      near: '#020a0d',
      water: '#07303a',
    },
  ],
}

export function paletteFor(light: Light, pick: number, tint: Color | null): Palette {
  const choices = SHADES[light]
  const shades = choices[Math.floor(pick * choices.length)] ?? (choices[0] as Shades)
  const color = (name: keyof Palette): Color => {
    const own = hex(shades[name])
    if (!tint || name === 'light') return own
    return tinted(own, tint, name === 'near' ? 0.25 : 0.5)
  }
  return {
    zenith: color('zenith'),
    middle: color('middle'),
    horizon: color('horizon'),
    light: color('light'),
    cloud: color('cloud'),
    cloudShade: color('cloudShade'),
    haze: color('haze'),
    near: color('near'),
    water: color('water'),
  }
}

/** The colour of something at a distance: 0 is at the viewer's feet, 1 at the horizon. */
export function atDistance(palette: Palette, distance: number): Color {
  return mix(palette.near, palette.haze, distance)
}
