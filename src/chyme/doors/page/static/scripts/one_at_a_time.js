/**
 * Return a function that calls `action`, an async one, unless it is running. Where it was called meanwhile, `again` is
 * called at the end, by default the same function.
 */
export function oneAtATime(action, again = null) {
  let isRunning = false;
  let isAskedAgain = false;
  return async function run() {
    if (isRunning) {
      isAskedAgain = true;
      return;
    }
    isRunning = true;
    try {
      await action();
    } finally {
      isRunning = false;
      if (isAskedAgain) {
        isAskedAgain = false;
        (again || run)();
      }
    }
  };
}
