// see the rooms of this module
