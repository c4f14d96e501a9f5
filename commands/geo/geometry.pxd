# The C types of commands/geo/geometry.py.

from libc.math cimport asin, cos, fabs, sin, sqrt
from storage.types.prefetch cimport prefetch
from storage.types.records cimport score_of


cdef int _STEP_MAX
cdef double _LONGITUDE_MAX
cdef double _LATITUDE_MAX
cdef double _RADIUS_M
cdef double _RADIANS_PER_DEGREE
cdef double _TWO_63
cdef unsigned long long _TOP_BIT
cdef unsigned long long _MASK_1
cdef unsigned long long _MASK_2
cdef unsigned long long _MASK_4
cdef unsigned long long _MASK_8
cdef unsigned long long _MASK_16
cdef unsigned long long _MASK_32


cpdef double radians(double degrees_)
cpdef double degrees(double radians_)
cpdef double edge(long line, int step, double maximum)
cdef double _longitude(unsigned long long bits)
cdef double _latitude(unsigned long long bits)
cdef double _middle(long line, double maximum)
cdef unsigned long long _gather(unsigned long long number)
cdef unsigned long long _whole_bits(double score)
cpdef double arc_m(
    double longitude, double latitude, double other_longitude, double other_latitude
)
cpdef double latitude_distance_m(double latitude, double other)
