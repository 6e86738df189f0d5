import { useEffect, useRef } from 'preact/hooks';
import { Icon } from '../shared/icons.tsx';
import { Notice } from '../shared/notice.tsx';
import { FrameFootage } from './footage/frame-footage.ts';
import type { Player } from './player.ts';
import { toggleFullScreen } from '../shared/full-screen.tsx';

/** The video, or why there is none. */
export function Screen({ player }: { player: Player }) {
  const screen = useRef<HTMLDivElement>(null);
  const video = useRef<HTMLVideoElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const recording = player.recording.value;
  const kind = recording?.video ?? null;
  useEffect(() => {
    player.onFullScreen = () => toggleFullScreen(screen.current?.parentElement ?? undefined);
  }, []);
  useEffect(() => openFootage(player, { kind, video: video.current, canvas: canvas.current }), [kind]);

  const error = player.footage.value?.error.value;
  const poster = recording?.assets.includes('poster.jpg') ? 'poster.jpg' : undefined;
  return (
    <div class="screen" ref={screen}>
      {kind === 'hls' && (
        <video ref={video} class="picture" playsInline muted preload="auto" poster={poster} aria-label="What the browser showed" />
      )}
      {kind === 'frames' && <canvas ref={canvas} class="picture" role="img" aria-label="What the browser showed" />}
      {kind === null && <NoPicture player={player} />}
      {error === 'unplayable' && (
        <Notice title="This browser cannot play the video" text="Try another browser. The timeline shows what happened." />
      )}
      {kind !== null && !error && <PlayOverlay player={player} />}
    </div>
  );
}

/** A click on the video toggles playback. Keyboard users have the button below. */
function PlayOverlay({ player }: { player: Player }) {
  const isWaiting = player.footage.value?.isWaiting.value ?? false;
  return (
    <button
      type="button"
      class="play-over"
      tabIndex={-1}
      aria-hidden="true"
      onClick={() => player.toggle()}
      onDblClick={() => player.onFullScreen()}
    >
      {isWaiting && <span class="spinner spinner-large" />}
      {!player.hasStarted.value && (
        <span class="play-mark">
          <Icon name="play" />
        </span>
      )}
    </button>
  );
}

function NoPicture({ player }: { player: Player }) {
  if (player.isGrowing.value) {
    return (
      <div class="notice notice-quiet">
        <span class="spinner spinner-large" aria-hidden="true" />
        <p role="status">Waiting for the first frame</p>
      </div>
    );
  }
  const isFailed = player.recording.value?.status === 'failed';
  return (
    <Notice
      title={isFailed ? 'The recording failed' : 'There is no video'}
      text={isFailed ? 'No frame of this session could be recorded.' : 'The session ended before its browser rendered a frame.'}
    />
  );
}

interface FootageTarget {
  kind: 'hls' | 'frames' | null;
  video: HTMLVideoElement | null;
  canvas: HTMLCanvasElement | null;
}

/** Opens the footage. Returns a function that closes it. */
function openFootage(player: Player, { kind, video, canvas }: FootageTarget): () => void {
  let isOpen = true;
  const open = async () => {
    if (kind === 'frames' && canvas) {
      player.footage.value = new FrameFootage({
        canvas,
        index: 'frames.ndjson',
        pictures: 'frames.mjpeg',
        isGrowing: () => player.isGrowing.value,
      });
    } else if (kind === 'hls' && video) {
      // Most of the page's code, and not needed for still frames.
      const { VideoFootage } = await import('./footage/video-footage.ts');
      if (isOpen) player.footage.value = new VideoFootage(video, 'video.m3u8');
    }
    player.footage.value?.setRate(player.rate.value);
  };
  void open();
  return () => {
    isOpen = false;
    player.footage.value?.close();
    player.footage.value = null;
  };
}
