// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/window.hpp"

#include "lab/errors.hpp"

#ifdef LAB_HAVE_WINDOW

#include <GL/freeglut.h>
#include <GL/glx.h>
#include <X11/Xlib.h>

#include <algorithm>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>

namespace lab {
namespace {

/// A connection to the display, and why it cannot be used (empty where it can). This has to be
/// known beforehand, since glutInit() ends the whole process where it finds no display.
class display_probe {
 public:
  display_probe() {
    const char* name = std::getenv("DISPLAY");
    if (name == nullptr || *name == '\0') {
      problem_ = "there is no display (DISPLAY is not set)";
      return;
    }
    display_ = XOpenDisplay(nullptr);
    if (display_ == nullptr) {
      problem_ = std::string("the display ") + name + " cannot be opened";
      return;
    }
    int opcode = 0;
    int event = 0;
    int error = 0;
    if (XQueryExtension(display_, "GLX", &opcode, &event, &error) == 0)
      problem_ = std::string("the display ") + name + " has no OpenGL (GLX)";
  }
  ~display_probe() {
    if (display_ != nullptr) XCloseDisplay(display_);
  }
  display_probe(const display_probe&) = delete;
  display_probe& operator=(const display_probe&) = delete;

  const std::string& problem() const { return problem_; }

 private:
  Display* display_ = nullptr;
  std::string problem_;
};

// freeglut's callbacks get no pointer of ours, so what they need is found here.
struct window_state {
  const bitmap* picture = nullptr;  // null: OpenGL draws on its own
  std::function<void()> closing;    // while the window's context is still there
  bool done = false;                // Esc or q
  bool destroyed = false;           // closed by the user
};
window_state* current = nullptr;

void on_display() {
  if (current->picture == nullptr) return;  // the next frame is soon there
  // Row 0 is at the top, and OpenGL's y goes up: the picture hangs down from the top left corner.
  const float wide = static_cast<float>(glutGet(GLUT_WINDOW_WIDTH));
  const float high = static_cast<float>(glutGet(GLUT_WINDOW_HEIGHT));
  const bitmap& picture = *current->picture;
  glClear(GL_COLOR_BUFFER_BIT);
  glRasterPos2f(-1, 1);
  glPixelZoom(wide / static_cast<float>(picture.width()),
              -high / static_cast<float>(picture.height()));
  glDrawPixels(picture.width(), picture.height(), GL_RGBA, GL_UNSIGNED_BYTE,
               picture.pixels().data());
  glutSwapBuffers();
}

void on_key(unsigned char key, int, int) {
  constexpr unsigned char kEscape = 27;
  if (key == kEscape || key == 'q') current->done = true;
}

void on_resize(int width, int height) { glViewport(0, 0, width, height); }

void on_close() {
  if (current->closing) current->closing();
  current->destroyed = true;
}

/// What freeglut itself cannot get over, such as a display without a usable pixel format. Its
/// functions must not be left by an exception, and go on with null pointers after a return.
[[noreturn]] void on_glut_error(const char* format, std::va_list arguments) {
  std::fflush(stdout);
  std::fputs("no window is possible here: ", stderr);
  std::vfprintf(stderr, format, arguments);
  std::fputc('\n', stderr);
  std::_Exit(77);
}

void start_glut_once() {
  static const bool started = [] {
    char name[] = "lab";
    char* arguments[] = {name, nullptr};
    int count = 1;
    glutInitErrorFunc(on_glut_error);
    glutInit(&count, arguments);
    return true;
  }();
  (void)started;
}

/// What a window shows.
struct show_plan {
  int width, height;                 // of the picture, in pixels
  const bitmap* picture;             // null: OpenGL draws on its own, in next_frame
  std::function<void()> opened;      // called when the window's context is current
  std::function<void()> next_frame;  // called before each showing
  std::function<void()> closing;     // called before the window's context goes; must not throw
};

/// Opens the window and keeps it until the user has seen enough. `opened` and `next_frame` are
/// called from here, not from a callback: so they may throw.
void run_window(const show_plan& plan, const std::string& title) {
  if (std::string why_not; !window_possible(&why_not)) throw not_possible("no window: " + why_not);
  start_glut_once();
  glutInitDisplayMode(GLUT_RGBA | GLUT_DOUBLE);
  glutSetOption(GLUT_ACTION_ON_WINDOW_CLOSE, GLUT_ACTION_CONTINUE_EXECUTION);

  // Large pictures are shrunk to the screen, with the same scale for both sides.
  const double screen_width = std::max(1, glutGet(GLUT_SCREEN_WIDTH));
  const double screen_height = std::max(1, glutGet(GLUT_SCREEN_HEIGHT));
  const double scale =
      std::min({1.0, 0.9 * screen_width / plan.width, 0.9 * screen_height / plan.height});
  glutInitWindowSize(std::max(1, static_cast<int>(plan.width * scale)),
                     std::max(1, static_cast<int>(plan.height * scale)));

  window_state state;
  state.picture = plan.picture;
  state.closing = plan.closing;
  current = &state;
  const int window = glutCreateWindow((title + " (Esc closes)").c_str());
  glutDisplayFunc(on_display);
  glutKeyboardFunc(on_key);
  glutReshapeFunc(on_resize);
  glutCloseFunc(on_close);

  struct closer {
    int window;
    ~closer() {
      if (!current->destroyed) {
        glutDestroyWindow(window);
        glutMainLoopEvent();  // freeglut closes it the next time it looks
      }
      // Freeglut leaves the context current, and while it is, no other one (of EGL) can be.
      if (Display* display = glXGetCurrentDisplay()) glXMakeCurrent(display, None, nullptr);
      current = nullptr;
    }
  } const close_at_the_end{window};

  if (plan.opened) plan.opened();
  using clock = std::chrono::steady_clock;
  constexpr auto kFrame = std::chrono::milliseconds(16);
  while (!state.done && !state.destroyed) {
    const auto started = clock::now();
    if (plan.next_frame) {
      plan.next_frame();
      if (plan.picture != nullptr) glutPostRedisplay();
    }
    glutMainLoopEvent();
    std::this_thread::sleep_until(started + kFrame);  // a display shows no more frames than these
  }
}

}  // namespace

bool window_possible(std::string* why_not) {
  const display_probe probe;
  if (why_not != nullptr) *why_not = probe.problem();
  return probe.problem().empty();
}

void show(const bitmap& picture, const std::string& title) {
  run_window({picture.width(), picture.height(), &picture, {}, {}, {}}, title);
}

void play(int width, int height, const std::function<void(bitmap&, int)>& draw,
          const std::string& title) {
  bitmap picture(width, height);
  int tick = 0;
  run_window({width, height, &picture, {}, [&] { draw(picture, tick++); }, {}}, title);
}

void play_opengl(int width, int height, const std::function<gl_painter()>& make_painter,
                 const std::string& title) {
  gl_painter paint;
  int tick = 0;
  const auto draw = [&] {
    glClear(GL_COLOR_BUFFER_BIT);
    paint(tick++);
    glutSwapBuffers();
  };
  run_window({width, height, nullptr, [&] { paint = make_painter(); }, draw, [&] { paint = {}; }},
             title);
}

}  // namespace lab

#else  // built without freeglut

namespace lab {
namespace {

constexpr const char* kWhyNot = "the program was built without freeglut";

}  // namespace

bool window_possible(std::string* why_not) {
  if (why_not != nullptr) *why_not = kWhyNot;
  return false;
}

void show(const bitmap&, const std::string&) {
  throw not_possible(std::string("no window: ") + kWhyNot);
}

void play(int, int, const std::function<void(bitmap&, int)>&, const std::string&) {
  throw not_possible(std::string("no window: ") + kWhyNot);
}

void play_opengl(int, int, const std::function<gl_painter()>&, const std::string&) {
  throw not_possible(std::string("no window: ") + kWhyNot);
}

}  // namespace lab

#endif
