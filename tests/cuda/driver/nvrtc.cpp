// NVRTC: there is no compiler here.
extern "C" {

enum { INTERNAL_ERROR = 11 };

int nvrtcVersion(int *major, int *minor) {
    *major = 13;
    *minor = 0;
    return 0;
}

const char *nvrtcGetErrorString(int) { return "the fake driver has no compiler"; }
int nvrtcCreateProgram(void **, const char *, const char *, int, const char *const *, const char *const *) {
    return INTERNAL_ERROR;
}
int nvrtcCompileProgram(void *, int, const char *const *) { return INTERNAL_ERROR; }
int nvrtcDestroyProgram(void **) { return INTERNAL_ERROR; }
int nvrtcGetPTX(void *, char *) { return INTERNAL_ERROR; }
int nvrtcGetPTXSize(void *, unsigned long *) { return INTERNAL_ERROR; }
int nvrtcGetProgramLog(void *, char *) { return INTERNAL_ERROR; }
int nvrtcGetProgramLogSize(void *, unsigned long *) { return INTERNAL_ERROR; }

}  // extern "C"
