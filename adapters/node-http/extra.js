// Work that nobody asked for: how little of it a comparison finds says what its verdicts are worth.
// A step is one of Lehmer's random numbers. Each needs the one before and every request goes on from the last one's, so
// that no compiler can leave a step out.
const steps = Number(process.env.EXTRA_STEPS ?? 0);
let state = 1;

/** `answer`, behind EXTRA_STEPS steps in every request; `answer` itself where the variable is not set. */
export function burdened(answer) {
  if (steps === 0) return answer;
  return (request, response) => {
    let number = state;
    for (let step = 0; step < steps; step++) number = (number * 48271) % 2147483647;
    state = number;
    return answer(request, response);
  };
}
