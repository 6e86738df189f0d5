/** The package ships no types for its light build, which has a part of the same names. */
declare module 'hls.js/light' {
  export * from 'hls.js';
  export { default } from 'hls.js';
}
